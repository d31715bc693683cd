package window

import (
	"context"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// contextWait is how long a finished summary waits for the context as it is now, when there is one from the time at which
// the summary was prepared.
const contextWait = 2 * time.Millisecond

// gathered is the context for the message with the summary, gathered while the summary is written.
type gathered struct {
	mu           sync.Mutex
	early, fresh <-chan []llm.Part
}

// gather starts to gather the context. ahead: for a summary that is prepared.
func (k *Keeper) gather(ctx context.Context, ahead bool) {
	parts := make(chan []llm.Part, 1)
	go func() { parts <- k.Context(ctx) }()
	k.gathered.mu.Lock()
	defer k.gathered.mu.Unlock()
	if ahead {
		k.gathered.early = parts
	} else {
		k.gathered.fresh = parts
	}
}

// take returns the context: the newest that is there in time.
func (g *gathered) take() []llm.Part {
	g.mu.Lock()
	early, fresh := g.early, g.fresh
	g.early, g.fresh = nil, nil
	g.mu.Unlock()
	switch {
	case fresh == nil && early == nil:
		return nil
	case early == nil:
		return <-fresh
	}
	timer := time.NewTimer(contextWait)
	defer timer.Stop()
	select {
	case parts := <-fresh:
		return parts
	case <-timer.C:
	}
	select {
	case parts := <-fresh:
		return parts
	case parts := <-early:
		return parts
	}
}
