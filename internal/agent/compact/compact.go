// Package compact decides how a conversation that fills its window is made smaller. It computes; it sends
// nothing and stores nothing.
//
// The levels, each used only when the one before does not free enough:
//
//  1. A result that is too long is kept in a file from the start, with its head and tail in the conversation.
//     That is the tools' work, not this package's.
//  2. Old results are replaced by a stub that names the file with the whole.
//  3. Reasoning of earlier turns and results that a later call superseded are dropped.
//  4. Everything but the newest messages is replaced by a summary.
//
// The words: the tail is the newest messages, which no level changes, but for results under level 2; a [Plan]
// is the changes to make; a [Stub] replaces one result.
//
// Promises: a plan never separates a call from its result; the same input gives the same plan; a message that a plan
// keeps is the same messages, not copies.
package compact

import (
	"fmt"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Level is how much is given up.
type Level int

// The levels that change the conversation.
const (
	None    Level = 0
	Results Level = 2
	Stale   Level = 3
	Summary Level = 4
)

// Options bound a plan. Zero values mean the defaults.
type Options struct {
	Target      int // tokens the prompt should have afterwards, at most
	Keep        int // newest messages that stay whole: 6
	KeepResults int // newest results that are never stubbed: 3
	MinResult   int // bytes: shorter results are not stubbed: 10,000

	// ResultKey names the content that the result of a call shows: an earlier result with the same key is stale, unless
	// the later one is far shorter ("unchanged since you read it"); empty: nothing that can become so. Nil: no
	// call does.
	ResultKey func(llm.ToolCall) string
	// From is the weakest level to consider: a person who asks for a compaction wants a summary.
	From Level
}

// Stub replaces the result of a call.
type Stub struct {
	Call       llm.ToolCall
	Result     llm.ToolResult
	Superseded bool // a later call shows the same, newer: no copy needs to be kept
}

// Plan is the changes to make. Cut is the number of messages that the summary replaces.
type Plan struct {
	Level         Level
	Stubs         []Stub
	DropReasoning bool // in the messages before Turn
	Cut           int
	Tail          int // the first message of the tail
	Turn          int // where the present turn begins, or the tail: a provider may need the reasoning after it
	Before, After int // tokens of the prompt, estimated; After leaves out the summary itself
	Fits          bool
}

const (
	defaultKeep        = 6
	defaultKeepResults = 3
	defaultMinResult   = 10_000
	stubTokens         = 60 // about the price of a stub
)

func (o *Options) defaults() {
	if o.Keep <= 0 {
		o.Keep = defaultKeep
	}
	if o.KeepResults <= 0 {
		o.KeepResults = defaultKeepResults
	}
	if o.MinResult <= 0 {
		o.MinResult = defaultMinResult
	}
}

// Make plans the compaction of msgs. used is the size of the last prompt as the provider reported it, in tokens, all of
// it (system prompt and tools too); 0 means unknown. Freed tokens are estimated, and scaled by how far the estimate of
// msgs is from used.
func Make(msgs []llm.Message, used int, o Options) Plan {
	o.defaults()
	h := newHistory(msgs, used)
	p := Plan{Before: h.used, After: h.used, Tail: h.tail(o.Keep)}
	p.Turn = h.turn(p.Tail)
	if o.From <= Results {
		p.stub(h, o)
		if p.enough(o) {
			p.Level = Results
			return p
		}
	}
	if o.From <= Stale {
		p.stale(h, o)
		if p.enough(o) {
			p.Level = Stale
			return p
		}
	}
	return h.summary(o)
}

// Freeable is how many tokens each level would free, by itself and with those before it, without regard to whether it
// is due: with stubs for old results, without stale parts, and with a summary. A summary's own text is not counted.
func Freeable(msgs []llm.Message, used int, o Options) (results, stale, summary int) {
	o.defaults()
	h := newHistory(msgs, used)
	p := Plan{Before: h.used, After: h.used, Tail: h.tail(o.Keep)}
	p.Turn = h.turn(p.Tail)
	p.stub(h, o)
	results = p.Before - p.After
	p.stale(h, o)
	stale = p.Before - p.After
	o.Target = h.used // the newest messages stay whole
	s := h.summary(o)
	return results, stale, max(s.Before-s.After, stale)
}

// enough: levels 2 and 3 break the provider's cache from the first change on, so they are worth it only when
// they bring the prompt under its target.
func (p *Plan) enough(o Options) bool {
	p.Fits = p.After <= o.Target
	return p.Fits && p.After < p.Before
}

// history is a conversation with its sizes.
type history struct {
	msgs    []llm.Message
	used    int
	scale   float64 // tokens per estimated token
	calls   map[string]llm.ToolCall
	at      map[string]int // call id -> message of the call
	results []place        // in order
}

type place struct {
	msg    int
	result llm.ToolResult
}

func newHistory(msgs []llm.Message, used int) *history {
	h := &history{msgs: msgs, used: used, scale: 1, calls: map[string]llm.ToolCall{}, at: map[string]int{}}
	sum := 0
	for i, m := range msgs {
		sum += llm.EstimateTokens(m)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				h.calls[p.ID], h.at[p.ID] = p, i
			case llm.ToolResult:
				h.results = append(h.results, place{i, p})
			}
		}
	}
	switch {
	case used <= 0:
		h.used = sum
	case sum > 0 && used < sum: // the estimate is too high; the other way round the rest is system prompt and tools
		h.scale = float64(used) / float64(sum)
	}
	return h
}

func (h *history) tokens(estimate int) int { return int(float64(estimate) * h.scale) }

// tail is the first of the newest keep messages, moved forward in time never and backward until the tail has
// the call of each of its results.
func (h *history) tail(keep int) int {
	at := max(0, len(h.msgs)-keep)
	for at > 0 && at < len(h.msgs) && h.needsBefore(at) {
		at--
	}
	return at
}

// turn is the newest message before limit in which a person speaks, or 0.
func (h *history) turn(limit int) int {
	for at := limit; at > 0; at-- {
		if at < len(h.msgs) && len(UserTexts(h.msgs[at])) > 0 {
			return at
		}
	}
	return 0
}

// needsBefore reports whether the message answers calls of the one before it, or continues it.
func (h *history) needsBefore(at int) bool {
	for _, p := range h.msgs[at].Parts {
		if r, ok := p.(llm.ToolResult); ok {
			if call, known := h.at[r.CallID]; known && call < at {
				return true
			}
		}
	}
	return h.msgs[at].Role == llm.Assistant && h.msgs[at-1].Role == llm.Assistant
}

// stub chooses the results for level 2, oldest first: the newest KeepResults and short ones stay.
func (p *Plan) stub(h *history, o Options) {
	last := len(h.results) - o.KeepResults
	for i := 0; i < last; i++ {
		r := h.results[i]
		if size(r.result) >= o.MinResult && !holdsSkill(r.result) {
			p.replace(h, r.result, false)
		}
	}
}

// stale adds the drops of level 3: results that were superseded, and old reasoning.
func (p *Plan) stale(h *history, o Options) {
	done := map[string]bool{}
	for _, s := range p.Stubs {
		done[s.Call.ID] = true
	}
	for i, r := range h.superseded(o.ResultKey) {
		if r && !done[h.results[i].result.CallID] && h.results[i].msg < p.Tail {
			p.replace(h, h.results[i].result, true)
		}
	}
	for _, m := range h.msgs[:p.Turn] {
		if n := reasoning(m); n > 0 {
			p.DropReasoning = true
			p.After -= h.tokens(n)
		}
	}
}

// superseded marks each result whose content a later one, which did not fail, shows again.
func (h *history) superseded(shows func(llm.ToolCall) string) []bool {
	out := make([]bool, len(h.results))
	if shows == nil {
		return out
	}
	seen := map[string]int{} // the size of the longest later result
	for i := len(h.results) - 1; i >= 0; i-- {
		r := h.results[i].result
		key := shows(h.calls[r.CallID])
		if key == "" {
			continue
		}
		out[i] = seen[key] > 0 && seen[key] >= size(r)/2
		if !r.IsError {
			seen[key] = max(seen[key], size(r))
		}
	}
	return out
}

// replace adds a stub when it is smaller than the result.
func (p *Plan) replace(h *history, r llm.ToolResult, superseded bool) {
	call, ok := h.calls[r.CallID]
	if !ok {
		return
	}
	freed := h.tokens(llm.EstimateTokens(llm.Message{Parts: r.Parts})) - stubTokens
	if freed <= 0 {
		return
	}
	p.Stubs = append(p.Stubs, Stub{Call: call, Result: r, Superseded: superseded})
	p.After -= freed
}

// leastResult is the shortest result, in bytes, that is stubbed when nothing else helps.
const leastResult = 2_000

// summary plans level 4. When the newest messages do not fit, fewer are kept, and results among them are
// stubbed: first long ones, at last all but the newest. The last exchange always stays.
func (h *history) summary(o Options) Plan {
	var p Plan
	for keep := o.Keep; ; keep-- {
		p = Plan{Level: Summary, Before: h.used, After: h.used, Tail: h.tail(keep)}
		p.Cut = p.Tail
		for _, m := range h.msgs[:p.Cut] {
			p.After -= h.tokens(llm.EstimateTokens(m))
		}
		p.After = max(p.After, 0)
		if p.Fits = p.After <= o.Target; p.Fits {
			return p
		}
		p.stubTail(h, o)
		if p.Fits = p.After <= o.Target; p.Fits {
			return p
		}
		if keep <= 2 {
			o.KeepResults, o.MinResult = 1, min(o.MinResult, leastResult)
			p.stubTail(h, o)
			p.Fits = p.After <= o.Target
			return p
		}
	}
}

// stubTail stubs results of the tail, oldest first, until the plan fits.
func (p *Plan) stubTail(h *history, o Options) {
	done := map[string]bool{}
	for _, s := range p.Stubs {
		done[s.Call.ID] = true
	}
	for _, r := range h.results[:max(0, len(h.results)-o.KeepResults)] {
		if p.After <= o.Target {
			return
		}
		if r.msg >= p.Tail && size(r.result) >= o.MinResult && !done[r.result.CallID] && !holdsSkill(r.result) {
			p.replace(h, r.result, false)
		}
	}
}

// Apply is the conversation under a plan: stub makes the text of a stub, summary takes the place of the messages that
// were cut and is left out where it has no parts. Messages that need no change are the same values.
func (p Plan) Apply(msgs []llm.Message, summary llm.Message, stub func(Stub) string) []llm.Message {
	stubs := map[string]Stub{}
	for _, s := range p.Stubs {
		stubs[s.Call.ID] = s
	}
	var out []llm.Message
	if p.Level == Summary && len(summary.Parts) > 0 {
		out = append(out, summary)
	}
	for i, m := range msgs[p.Cut:] {
		m = replaceResults(m, stubs, stub)
		if p.DropReasoning && p.Cut+i < p.Turn {
			m = dropReasoning(m)
		}
		if len(m.Parts) > 0 {
			out = append(out, m)
		}
	}
	return out
}

func replaceResults(m llm.Message, stubs map[string]Stub, text func(Stub) string) llm.Message {
	var parts []llm.Part
	for i, p := range m.Parts {
		r, ok := p.(llm.ToolResult)
		s, found := stubs[r.CallID]
		if !ok || !found {
			continue
		}
		if parts == nil {
			parts = append(parts, m.Parts...)
		}
		r.Parts = []llm.Part{llm.Text{Text: text(s)}}
		parts[i] = r
	}
	if parts != nil {
		m.Parts = parts
	}
	return m
}

func dropReasoning(m llm.Message) llm.Message {
	if reasoning(m) == 0 {
		return m
	}
	var parts []llm.Part
	for _, p := range m.Parts {
		if _, ok := p.(llm.Reasoning); !ok {
			parts = append(parts, p)
		}
	}
	m.Parts = parts
	return m
}

// reasoning is the estimate of a message's reasoning, in tokens.
func reasoning(m llm.Message) int {
	n := 0
	for _, p := range m.Parts {
		if r, ok := p.(llm.Reasoning); ok {
			n += max(1, llm.EstimateText(len(r.Text)+len(r.Data)))
		}
	}
	return n
}

// holdsSkill reports whether a result is the text of a skill: that goes through every compaction.
func holdsSkill(r llm.ToolResult) bool {
	for _, p := range r.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginSkill {
			return true
		}
	}
	return false
}

// size is the length of a result in bytes; an image counts with its data.
func size(r llm.ToolResult) int { return llm.ContentBytes(r.Parts) }

// Text is the stub as the model reads it, in place of a result. path is the file that has the whole; empty: there is
// none.
func (s Stub) Text(path string) string {
	n := size(s.Result)
	switch {
	case s.Superseded && path == "":
		return "[Left out: a later call shows this again, in its newer state.]"
	case s.Superseded:
		return "[Left out: a later call shows this again, in its newer state. The old one is in " + path + ".]"
	case path == "":
		return fmt.Sprintf("[Left out to save room: %d characters. Repeat the call if you need them.]", n)
	}
	return fmt.Sprintf("[Left out to save room: %d characters, kept in %s; read what you need of it from there.]", n, path)
}
