package agent

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// doomAfter identical calls with identical results, between the last two of which nothing else came that was
// new either, mean that the model is stuck: A A A, and A B A B A B, but not a test that is run again after each
// edit, nor one whose result changes.
const doomAfter = 3

// A command may be asked again for the same answer: to wait for a server, or to hunt a test that fails now and then.
// From its pollAfter-th run on, lathe asks a person. In a run without one the command waits, and the model is told.
const (
	polls     = "Bash"
	pollAfter = 8
	pollPause = 5 * time.Second // longer by this with each run
	pollMost  = time.Minute
)

// doom watches the calls of a turn for a model that goes round in circles.
type doom struct {
	mu     sync.Mutex
	calls  map[[32]byte]*rounds
	news   int // how many times a call came with a result that it had not had in this turn
	seen   map[[32]byte]bool
	warned bool // the model was warned, or the user refused
}

// rounds is one call: how often in a row it had the same result, and how much was new by then.
type rounds struct {
	result [32]byte
	count  int
	news   int // doom.news when it came last but one
	last   int // doom.news when it came last
}

func callKey(c llm.ToolCall) [32]byte {
	return sha256.Sum256(append([]byte(c.Name+"\x00"), canonicalJSON(c.Input)...))
}

func resultKey(r llm.ToolResult) [32]byte {
	own := slices.DeleteFunc(slices.Clone(r.Parts), func(p llm.Part) bool {
		t, ok := p.(llm.Text)
		return ok && t.Origin == llm.OriginReminder
	})
	b, err := llm.MarshalPart(llm.ToolResult{Parts: own, IsError: r.IsError})
	if err != nil {
		return [32]byte{}
	}
	return sha256.Sum256(b)
}

// stuck reports whether call would be one too many, and whether the model was warned already.
func (d *doom) stuck(c llm.ToolCall) (stuck, warned bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.same(c) >= doomAfter, d.warned
}

// same is how often in a row a call had the same result, while nothing else was new.
func (d *doom) same(c llm.ToolCall) int {
	if r := d.calls[callKey(c)]; r != nil && r.news == d.news {
		return r.count
	}
	return 0
}

// run is the number of the run that a command would be, of those that gave the same result.
func (d *doom) run(c llm.ToolCall) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.same(c) + 1
}

func (d *doom) warn() { d.mu.Lock(); d.warned = true; d.mu.Unlock() }

// reset forgets the turn so far.
func (d *doom) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.seen, d.news, d.warned = map[[32]byte]*rounds{}, map[[32]byte]bool{}, 0, false
}

// note takes in the results of a step, in call order.
func (d *doom) note(calls []*pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls == nil {
		d.calls, d.seen = map[[32]byte]*rounds{}, map[[32]byte]bool{}
	}
	for _, p := range calls {
		if !p.doomed { // else its result is lathe's warning
			d.one(callKey(p.shown), resultKey(p.result))
		}
	}
}

func (d *doom) one(call, result [32]byte) {
	if pair := sha256.Sum256(append(call[:], result[:]...)); !d.seen[pair] {
		d.seen[pair] = true
		d.news++
		d.warned = false
	}
	r := d.calls[call]
	if r == nil || r.result != result {
		d.calls[call] = &rounds{result: result, count: 1, news: -1, last: d.news}
		return
	}
	r.count++
	r.news, r.last = r.last, d.news
}

// doomed stops a call that repeats the last ones exactly: a person is asked; in a run without one, the
// model is warned once, and if it continues the turn ends.
func (q *queue) doomed(p *pending) error {
	d := &q.a.doom
	if q.journal && p.call.Name == polls {
		return q.polled(p, d.run(p.call))
	}
	stuck, warned := d.stuck(p.call)
	if !stuck || !q.journal {
		return nil
	}
	if q.a.cfg.Ask != nil {
		ans, err := q.askAgain(p, doomAfter)
		switch {
		case err != nil:
			return err
		case ans.Choice == event.ChoiceOnce:
			d.reset()
			return nil
		case ans.Choice == event.ChoiceNo:
			warned = true
		}
	}
	q.mu.Lock()
	p.doomed = true
	q.out.doomed = q.out.doomed || warned
	q.mu.Unlock()
	if warned {
		return errors.New("Not run: the same call was repeated without any change in its result, so the turn ends here.")
	}
	d.warn()
	return fmt.Errorf("Not run: you made this very call %d times and got the same result each time. "+
		"Do something different: read the result again, change the input, or tell the user what stands in the way.",
		doomAfter)
}

// polled slows down a command that has given the same result again and again. It never ends the turn.
func (q *queue) polled(p *pending, run int) error {
	if run < pollAfter {
		return nil
	}
	if q.a.cfg.Ask == nil {
		p.note = fmt.Sprintf("\n[This was run %d of the same command; those before it all gave the same result. To wait for "+
			"something, let the command wait (sleep, or a loop until it is done). If nothing will change, try something else "+
			"or tell the user.]", run)
		return q.pause(min(q.a.poll*time.Duration(run-pollAfter), pollMost))
	}
	if _, refused := q.a.doom.stuck(p.call); !refused {
		ans, err := q.askAgain(p, run-1)
		if err != nil {
			return err
		}
		if ans.Choice == event.ChoiceOnce {
			q.a.doom.reset()
			return nil
		}
		q.a.doom.warn()
	}
	q.mu.Lock()
	p.doomed = true
	q.mu.Unlock()
	return errors.New("Not run: the user does not want this command again, since its result stays the same. Try " +
		"something else, or tell the user what you wait for.")
}

func (q *queue) askAgain(p *pending, times int) (event.Answer, error) {
	return q.a.cfg.Ask(q.ctx, event.Question{
		Agent: q.a.cfg.Chain,
		Title: "The model repeats itself",
		Text: fmt.Sprintf("%s was called %d times with the same input and gave the same result each time, and nothing "+
			"new came in between. Run it again?",
			p.call.Name, times),
		Options: []event.Option{{ID: event.ChoiceOnce, Label: "Run it again"}, {ID: event.ChoiceNo, Label: "Stop"}},
		Call:    &p.call,
	})
}

func (q *queue) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-q.going.Done():
		return q.going.Err()
	}
}
