package approval

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
)

// Questions are the questions that wait for an answer. The zero value with Publish set is ready.
type Questions struct {
	Publish func(event.Body)

	mu      sync.Mutex
	waiting map[string]chan event.Answer
}

// Ask publishes a question and waits for its answer.
func (q *Questions) Ask(ctx context.Context, question event.Question) (event.Answer, error) {
	id := uuid.NewString()
	ch := make(chan event.Answer, 1)
	q.mu.Lock()
	if q.waiting == nil {
		q.waiting = map[string]chan event.Answer{}
	}
	q.waiting[id] = ch
	q.mu.Unlock()
	q.Publish(event.Asked{ID: id, Question: question})
	var ans event.Answer
	var err error
	select {
	case ans = <-ch:
	case <-ctx.Done():
		ans, err = event.Answer{Canceled: true}, ctx.Err()
		q.mu.Lock()
		delete(q.waiting, id)
		q.mu.Unlock()
	}
	q.Publish(event.Answered{ID: id, Answer: ans})
	return ans, err
}

// Answer answers an open question; the error is event.ErrNoQuestion when it is not (or no longer) open.
func (q *Questions) Answer(id string, a event.Answer) error {
	q.mu.Lock()
	ch, ok := q.waiting[id]
	delete(q.waiting, id)
	q.mu.Unlock()
	if !ok {
		return event.ErrNoQuestion
	}
	ch <- a
	return nil
}

// Asker asks the user about things other than calls; nil in a run without a user.
func (p *Approver) Asker() func(context.Context, event.Question) (event.Answer, error) {
	if !p.Interactive {
		return nil
	}
	return p.Ask
}
