package conversation

import (
	"context"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/extend/skill/invoke"
	"github.com/lathe-dev/lathe/internal/llm"
)

// contextWait is how long a finished summary waits for current material before it uses the material collected when the
// summary was prepared.
const contextWait = 2 * time.Millisecond

// material is the slow input of the message with the summary.
type material struct {
	context []llm.Part
	skills  []llm.Part // of the log
}

// gathered holds the material collected while the summary is written.
type gathered struct {
	mu           sync.Mutex
	early, fresh <-chan material
}

// gather starts to collect the material. ahead: for a summary prepared before it is needed.
func (k *Window) gather(ctx context.Context, ahead bool) {
	parts := make(chan material, 1)
	go func() {
		skills := make(chan []llm.Part, 1)
		go func() { skills <- invoke.Loaded(k.s.Log().Parts(llm.OriginSkill)) }()
		parts <- material{k.context(ctx), <-skills}
	}()
	k.gathered.mu.Lock()
	defer k.gathered.mu.Unlock()
	if ahead {
		k.gathered.early = parts
	} else {
		k.gathered.fresh = parts
	}
}

// take returns the newest material that is ready in time.
func (g *gathered) take() material {
	g.mu.Lock()
	early, fresh := g.early, g.fresh
	g.early, g.fresh = nil, nil
	g.mu.Unlock()
	switch {
	case fresh == nil && early == nil:
		return material{}
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
