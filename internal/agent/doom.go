package agent

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// doomAfter identical calls with identical results, one after the other, mean that the model is stuck.
const doomAfter = 3

// doom watches for a model that makes the same call again and again and gets the same answer each time.
type doom struct {
	mu     sync.Mutex
	last   [32]byte // the call
	result [32]byte
	count  int
	warned bool // the model was told
}

func callKey(c llm.ToolCall) [32]byte {
	input := []byte(c.Input)
	var v any
	if json.Unmarshal(input, &v) == nil {
		if b, err := json.Marshal(v); err == nil { // keys sorted
			input = b
		}
	}
	return sha256.Sum256(append([]byte(c.Name+"\x00"), input...))
}

func resultKey(r llm.ToolResult) [32]byte {
	b, err := llm.MarshalPart(llm.ToolResult{Parts: r.Parts, IsError: r.IsError})
	if err != nil {
		return [32]byte{}
	}
	return sha256.Sum256(b)
}

// stuck reports whether call would be one too many, and whether the model was told already.
func (d *doom) stuck(c llm.ToolCall) (stuck, warned bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count < doomAfter || callKey(c) != d.last {
		return false, false
	}
	return true, d.warned
}

func (d *doom) warn()  { d.mu.Lock(); d.warned = true; d.mu.Unlock() }
func (d *doom) reset() { d.mu.Lock(); d.count, d.warned = 0, false; d.mu.Unlock() }

// note takes in the results of a step, in call order.
func (d *doom) note(calls []*pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range calls {
		if p.doomed {
			continue // its result is lathe's warning
		}
		k, r := callKey(p.shown), resultKey(p.result)
		if d.count > 0 && k == d.last && r == d.result {
			d.count++
			continue
		}
		d.last, d.result, d.count, d.warned = k, r, 1, false
	}
}

// doomed stops a call that repeats the last ones exactly: a person is asked; where nobody answers, the
// model is told once, and when it goes on all the same the turn ends.
func (q *queue) doomed(p *pending) error {
	d := &q.a.doom
	stuck, warned := d.stuck(p.call)
	if !stuck || !q.journal {
		return nil
	}
	if q.a.cfg.Ask != nil {
		ans, err := q.a.cfg.Ask(q.ctx, event.Question{
			Title: "The model repeats itself",
			Text: fmt.Sprintf("%s was called %d times in a row with the same input and gave the same result each time. Run it again?",
				p.call.Name, doomAfter),
			Options: []event.Option{{ID: event.ChoiceOnce, Label: "Run it again"}, {ID: event.ChoiceNo, Label: "Stop"}},
			Call:    &p.call,
		})
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
	return fmt.Errorf("Not run: you made this very call %d times in a row and got the same result each time. "+
		"Do something different: read the result again, change the input, or tell the user what stands in the way.", doomAfter)
}
