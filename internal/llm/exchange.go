package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// Decoder turns one reply into deltas and a message.
type Decoder interface {
	// Decode yields the deltas of the reply.
	Decode(ctx context.Context) error
	// Message returns the whole reply, or after an error of Decode the parts that were complete.
	Message() Message
}

// Exchange makes attempt n of a request: it sends it, and yields the deltas of the reply and Done. The error of a
// broken reply has the complete parts.
func (c *Caller) Exchange(ctx context.Context, n int, out *Outgoing, yield func(Delta) bool,
	decoder func(*Reply, func(Delta) bool) Decoder,
) error {
	reply, err := c.Post(ctx, n, out, yield)
	if err != nil {
		return err
	}
	d := decoder(reply, func(d Delta) bool { reply.guard.took(d); return yield(d) })
	if err := d.Decode(ctx); err != nil {
		reply.Abort()
		if m := d.Message(); len(m.Parts) > 0 {
			if e := AsError(err); e != nil {
				m.Role, m.Stop = Assistant, StopBroken
				e.Partial = &m
			}
		}
		return err
	}
	reply.Close()
	if !yield(Done{Message: d.Message()}) {
		return ErrStopped
	}
	return nil
}

// EstimatedUsage is the usage of a reply whose provider reports none.
func EstimatedUsage(req *Request, reply Message) *Usage {
	return &Usage{Input: EstimateRequest(req), Output: EstimateTokens(reply), Estimated: true}
}

// NoModel is the error of a provider that is asked for a model without a name.
func NoModel(provider string) *Error {
	return &Error{
		Kind: KindNotFound, Provider: provider, Message: "no model is named",
		Hint: "name one with --model or the model setting",
	}
}

// CallIDs gives calls ids that no other call of the conversation has.
type CallIDs struct {
	Request *Request // the conversation; nil: an empty one
	Prefix  string   // of new ids
	given   map[string]bool
	first   map[string]string // by the id that the server gave: that of the first call
	repeats map[string]string // by a new id: the call whose id the server gave again
}

// Unique returns id, or a new one if that is empty or taken.
func (c *CallIDs) Unique(id string) string {
	own := id
	for own == "" || c.given[own] || c.taken(own) {
		own = fmt.Sprintf("%s_%016x", c.Prefix, rand.Uint64())
	}
	if c.given == nil {
		c.given, c.first, c.repeats = map[string]bool{}, map[string]string{}, map[string]string{}
	}
	c.given[own] = true
	if before := c.first[id]; before != "" && id != "" {
		c.repeats[own] = before
	} else {
		c.first[id] = own
	}
	return own
}

// Repeats is the call of this reply whose id the server gave to a call with this id, too; "": it gave it to none.
func (c *CallIDs) Repeats(own string) string { return c.repeats[own] }

func (c *CallIDs) taken(id string) bool {
	if c.Request == nil {
		return false
	}
	for i := range c.Request.Messages {
		for _, p := range c.Request.Messages[i].Parts {
			if call, ok := p.(ToolCall); ok && call.ID == id {
				return true
			}
		}
	}
	return false
}

// IsObject reports whether text is one complete JSON object.
func IsObject(text []byte) bool {
	t := bytes.TrimSpace(text)
	return len(t) > 1 && t[0] == '{' && t[len(t)-1] == '}' && json.Valid(t)
}
