package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
)

// ReplyParts collects the complete parts of a reply for a decoder that receives one part after the other, and yields
// its deltas. After the consumer stopped it yields nothing more.
type ReplyParts struct {
	Yield func(Delta) bool
	IDs   CallIDs
	Parts []Part
	Calls int // how many began

	stopped bool
	broken  *ToolCall // a call with invalid input: kept, or cut by the output limit?
}

// Send yields a delta.
func (r *ReplyParts) Send(d Delta) { r.stopped = r.stopped || !r.Yield(d) }

// Err is ErrStopped once the consumer has stopped.
func (r *ReplyParts) Err() error {
	if r.stopped {
		return ErrStopped
	}
	return nil
}

// Add adds a complete part that is no call to run.
func (r *ReplyParts) Add(p Part) {
	r.Send(PartDone{Index: len(r.Parts), Part: p})
	r.Parts = append(r.Parts, p)
}

// unnamed is the name of a call that the server gave none: it is answered, and never run.
const unnamed = "unknown"

// Begin begins a call, also one without a name, and returns its id.
func (r *ReplyParts) Begin(id, name, input string) string {
	id = r.IDs.Unique(id)
	r.Calls++
	r.Send(ToolDelta{Index: len(r.Parts), ID: id, Name: cmp.Or(name, unnamed), JSON: input})
	return id
}

// End adds the call that began. One that cannot be run waits until Settle.
func (r *ReplyParts) End(id, name string, input []byte, opaque *Opaque) {
	c := ToolCall{ID: id, Name: cmp.Or(name, unnamed), Opaque: opaque, Repeats: r.IDs.Repeats(id)}
	if name == "" || !IsObject(input) {
		c.Input, c.Raw = json.RawMessage("{}"), cmp.Or(string(input), "{}")
		r.broken = &c
		return
	}
	c.Input = AppendCanonical(make([]byte, 0, len(input)), bytes.TrimSpace(input))
	r.Parts = append(r.Parts, c)
	r.Send(ToolReady{Index: len(r.Parts) - 1, Call: c})
}

// Settle ends a call with invalid input. One that the output limit cut is dropped.
func (r *ReplyParts) Settle(cut bool) {
	c := r.broken
	if r.broken = nil; c != nil && !cut {
		r.Add(*c)
	}
}
