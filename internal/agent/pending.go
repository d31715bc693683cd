package agent

import (
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
)

// phase is how far a call has come. The queue moves it forward, one phase at a time:
//
//	added       it is in the queue
//	judged      the BeforeTool hooks have seen it; each call once
//	prepared    its tool resolved it to a plan; again when an earlier call may have changed the plan, or the approval
//	            replaced the input
//	authorised  policy or a person allowed that plan
//	started     it may have effects: its files are saved, its start goes to the journal, then it runs
//	answered    it has its one result
//
// A call that is stopped on the way (refused, crashed, interrupted, abandoned) is answered from where it is, and stays
// answered: when the work on it comes back later, its next move fails, and it never starts.
type phase uint8

const (
	added phase = iota
	judged
	prepared
	authorised
	started
	answered
)

// follows reports whether a call may go from one phase to another.
func (to phase) follows(from phase) bool {
	switch {
	case from == answered:
		return false
	case to == answered, from == prepared && to == prepared:
		return true
	}
	return to == from+1
}

// pending is a call on its way to its one result. The goroutine that works on it owns call; others look at
// shown, since a turn that was interrupted does not wait for ever for a tool that does not obey.
type pending struct {
	id      string
	written llm.ToolCall // as the model wrote it
	call    llm.ToolCall // as it will run
	tool    Tool         // resolved for call; nil: not yet, it cannot be, or the input changed since

	hooks   sync.WaitGroup // the work of the hooks that began when it was added
	ruling  Ruling         // their verdict
	hookErr error
	after   func() // ends its snapshot

	result llm.ToolResult
	done   chan struct{} // closed when the result is written and shown

	// guarded by queue.mu
	phase  phase
	shown  llm.ToolCall
	ran    *Result // the call's own result, while hooks work on it
	doomed bool    // stopped because it repeats the calls before it
	note   string  // for its result
	again  bool    // the reply has it already, under the same id
}

// move brings a call to its next phase. Where the order forbids that it changes nothing and returns an error, which
// stops the call: it was answered meanwhile.
func (q *queue) move(p *pending, to phase) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return p.move(to)
}

func (p *pending) move(to phase) error {
	if !to.follows(p.phase) {
		return errNotStarted
	}
	p.phase = to
	return nil
}

func (q *queue) phaseOf(p *pending) phase {
	q.mu.Lock()
	defer q.mu.Unlock()
	return p.phase
}
