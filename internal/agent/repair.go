package agent

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Texts that stand in for missing parts of a history. They are constant, so that a repaired history has the
// same bytes each time it is sent.
const (
	missingResult = "No result was recorded for this call; it may or may not have run. Check before repeating it."
	openingText   = "(The beginning of this conversation is not available.)"
	continueText  = "Continue."
)

// repair makes a history that no provider refuses out of messages, which it takes one by one: every call has exactly
// one result, in call order, in the message right after it; no orphaned or doubled results, no empty parts or messages,
// no reply that is only reasoning, no reasoning of another model, no block of another provider; it begins with the user
// and never has two replies in a row. Messages that need no change keep their Parts slice. It is deterministic, and
// repairing twice changes nothing.
type repair struct {
	model   llm.ModelInfo
	out     []llm.Message   // final: no later message can change it
	ids     map[string]bool // call ids in use
	open    []llm.ToolCall  // calls of the last reply that wait for results, under the ids they are sent with
	renamed map[string]string
	results map[string]llm.ToolResult
	whole   *llm.Message  // the user message that may serve as the results as it is
	rest    []llm.Message // other user parts seen before the results were settled
}

func newRepair(model llm.ModelInfo) *repair {
	return &repair{model: model, ids: map[string]bool{}}
}

func (r *repair) add(m llm.Message) {
	switch m.Role {
	case llm.User:
		r.user(m)
		if len(r.results) == len(r.open) { // nothing that follows can add to it
			r.settle()
		}
	case llm.Assistant:
		r.assistant(m)
	}
}

// history is the history up to here as it can be sent. Messages that follow change nothing before its end,
// but for results that are missing.
func (r *repair) history() []llm.Message {
	out := r.out[:len(r.out):len(r.out)]
	if len(r.open) > 0 {
		out = append(append(out, r.answers()), r.rest...)
	}
	if n := len(out); n > 0 && out[n-1].Role == llm.Assistant && out[n-1].Stop != llm.StopPauseTurn {
		out = append(out, llm.UserText(continueText))
	}
	return out
}

// assistant adds a reply, when something of it remains.
func (r *repair) assistant(m llm.Message) {
	r.settle()
	parts, calls := r.replyParts(m)
	if !hasContent(parts) {
		return
	}
	switch n := len(r.out); {
	case n == 0:
		r.out = append(r.out, llm.UserText(openingText))
	case r.out[n-1].Role == llm.Assistant && r.out[n-1].Stop != llm.StopPauseTurn:
		r.out = append(r.out, llm.UserText(continueText))
	}
	m.Parts = parts
	r.out = append(r.out, m)
	r.open = calls
	r.results = map[string]llm.ToolResult{}
}

// replyParts keeps the parts of a reply that may be sent; calls whose id is in use already get a new one.
func (r *repair) replyParts(m llm.Message) ([]llm.Part, []llm.ToolCall) {
	var calls []llm.ToolCall
	r.renamed = map[string]string{}
	parts := filter(m.Parts, func(p llm.Part) (llm.Part, bool) {
		switch p := p.(type) {
		case llm.Text:
			return p, strings.TrimSpace(p.Text) != ""
		case llm.Reasoning:
			said := p.Text != "" || p.Signature != "" || p.Data != "" || p.Opaque != nil
			return p, said && (m.Model == "" || m.Model == r.model.ID) && r.model.Owns(p.Provider)
		case llm.Opaque:
			return p, r.model.Owns(p.Provider)
		case llm.ToolCall:
			if p.Name == "" {
				return p, false
			}
			c := p
			if id := freshID(p.ID, func(id string) bool { return r.ids[id] }); id != p.ID {
				r.renamed[p.ID] = id
				c.ID = id
			}
			r.ids[c.ID] = true
			calls = append(calls, c)
			return c, true
		}
		return p, false
	})
	return parts, calls
}

// freshID makes an id of a call one that is not taken.
func freshID(id string, taken func(string) bool) string {
	id = cmp.Or(id, "call")
	out := id
	for n := 2; taken(out); n++ {
		out = fmt.Sprintf("%s_%d", id, n)
	}
	return out
}

func hasContent(parts []llm.Part) bool {
	for _, p := range parts {
		if _, only := p.(llm.Reasoning); !only {
			return true
		}
	}
	return false
}

// user takes results for the open calls and keeps the other parts for after them.
func (r *repair) user(m llm.Message) {
	results := 0
	rest := filter(m.Parts, func(p llm.Part) (llm.Part, bool) {
		switch p := p.(type) {
		case llm.ToolResult:
			results++
			r.result(p)
			return p, false
		default:
			return content(p)
		}
	})
	if results > 0 && results == len(m.Parts) && r.whole == nil && len(r.rest) == 0 {
		r.whole = &m
	}
	if len(rest) > 0 {
		m.Parts = rest
		r.rest = append(r.rest, m)
	}
}

// result notes the first result of an open call; others are dropped.
func (r *repair) result(res llm.ToolResult) {
	if id, ok := r.renamed[res.CallID]; ok {
		res.CallID = id
	}
	for _, c := range r.open {
		if c.ID == res.CallID {
			if _, dup := r.results[c.ID]; !dup {
				r.results[c.ID] = res
			}
			return
		}
	}
}

// settle writes the results of the open calls and then the rest of the user's message.
func (r *repair) settle() {
	if len(r.open) > 0 {
		r.out = append(r.out, r.answers())
	}
	r.out = append(r.out, r.rest...)
	r.open, r.results, r.renamed, r.whole, r.rest = nil, nil, nil, nil, nil
}

// answers is the message of results, in call order; the stored one where it is right as it is.
func (r *repair) answers() llm.Message {
	parts := make([]llm.Part, 0, len(r.open))
	for _, c := range r.open {
		res, ok := r.results[c.ID]
		if !ok {
			res = llm.TextResult(c, missingResult, true)
		}
		res.Parts = filter(res.Parts, content)
		if len(res.Parts) == 0 {
			res.Parts = []llm.Part{llm.Text{Text: "(no output)"}}
		}
		parts = append(parts, res)
	}
	if r.whole != nil && sameResults(r.whole.Parts, parts) {
		return *r.whole
	}
	return llm.Message{Role: llm.User, Parts: parts}
}

// content keeps the parts of a user's message, or of a result, that say something.
func content(p llm.Part) (llm.Part, bool) {
	switch p := p.(type) {
	case llm.Text:
		return p, strings.TrimSpace(p.Text) != ""
	case llm.Media:
		return p, len(p.Data) > 0 && p.MIME != ""
	}
	return p, false
}

// sameResults: the same calls in the same order with parts that needed no change.
func sameResults(a, b []llm.Part) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, ok := a[i].(llm.ToolResult)
		y := b[i].(llm.ToolResult)
		if !ok || x.CallID != y.CallID || len(x.Parts) != len(y.Parts) || &x.Parts[0] != &y.Parts[0] { // none is empty
			return false
		}
	}
	return true
}

// filter keeps parts that pass, possibly changed; it returns the same slice when nothing changed, since
// providers know an encoded message by it.
func filter(in []llm.Part, keep func(llm.Part) (llm.Part, bool)) []llm.Part {
	var out []llm.Part
	changed := false
	for i, p := range in {
		q, ok := keep(p)
		same := ok
		if c, isCall := p.(llm.ToolCall); isCall && ok {
			same = q.(llm.ToolCall).ID == c.ID
		}
		if !same && !changed {
			changed = true
			out = append(make([]llm.Part, 0, len(in)), in[:i]...)
		}
		if changed && ok {
			out = append(out, q)
		}
	}
	if !changed {
		return in
	}
	return out
}

// repairer repairs a growing history step after step and works only on new messages. Nothing it returned
// is written to again.
type repairer struct {
	fold *repair
	seen int         // messages taken
	last llm.Message // the last of them, to notice another history

	revision int // of the transcript that they came from
}

func (r *repairer) repair(msgs []llm.Message, revision int, info llm.ModelInfo) []llm.Message {
	if r.revision != revision || r.stale(msgs, info) {
		*r = repairer{fold: newRepair(info), revision: revision}
	}
	for _, m := range msgs[r.seen:] {
		r.fold.add(m)
		r.seen, r.last = r.seen+1, m
	}
	return r.fold.history()
}

func (r *repairer) stale(msgs []llm.Message, info llm.ModelInfo) bool {
	return r.fold == nil || r.fold.model.ID != info.ID || r.fold.model.Provider != info.Provider ||
		r.fold.model.Host != info.Host || r.seen > len(msgs) ||
		(r.seen > 0 && !sameParts(msgs[r.seen-1], r.last))
}

// uses reports whether a call of the history has that id.
func (r *repairer) uses(id string) bool { return r.fold != nil && r.fold.ids[id] }

func sameParts(a, b llm.Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	return len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0]
}
