package remote

import (
	"context"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

type incoming struct {
	data []byte
	err  error
}

// queue hands messages of several streams to one reader.
type queue struct {
	life context.Context
	end  context.CancelCauseFunc
	in   chan incoming
	work sync.WaitGroup
	gate sync.RWMutex
}

func newQueue() *queue {
	q := &queue{in: make(chan incoming)}
	q.life, q.end = context.WithCancelCause(context.Background())
	return q
}

// Receive returns the next message of any stream.
func (q *queue) Receive() ([]byte, error) {
	select {
	case m := <-q.in:
		return m.data, m.err
	case <-q.life.Done():
		return nil, context.Cause(q.life)
	}
}

func (q *queue) put(data []byte, err error) {
	select {
	case q.in <- incoming{data, err}:
	case <-q.life.Done():
	}
}

// spawn runs f beside the caller, unless the transport is closed.
func (q *queue) spawn(f func()) {
	q.gate.RLock()
	defer q.gate.RUnlock()
	if q.life.Err() == nil {
		q.work.Go(f)
	}
}

func (q *queue) stop() {
	q.gate.Lock()
	q.end(jsonrpc.ErrClosed)
	q.gate.Unlock()
	q.work.Wait()
}
