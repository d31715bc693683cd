package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

// diff is cmp.Diff with raw JSON compared as a whole, for inputs of megabytes.
func diff(want, got any, opts ...cmp.Option) string {
	return cmp.Diff(want, got, append(opts, cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }))...)
}

// outcome collects everything that one call of Stream yielded.
type outcome struct {
	deltas  []llm.Delta
	message *llm.Message // of Done
	err     error
}

// stream reads to the end, or until each returns false.
func stream(ctx context.Context, m llm.Model, req *llm.Request, each func(llm.Delta) bool) *outcome {
	o := &outcome{}
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			o.err = err
			o.deltas = append(o.deltas, nil) // nothing may follow
			continue
		}
		o.deltas = append(o.deltas, d)
		if done, ok := d.(llm.Done); ok {
			o.message = &done.Message
		}
		if each != nil && !each(d) {
			break
		}
	}
	return o
}

// of lists the deltas of one type.
func of[D llm.Delta](o *outcome) []D {
	var out []D
	for _, d := range o.deltas {
		if d, ok := d.(D); ok {
			out = append(out, d)
		}
	}
	return out
}

func (o *outcome) text() string {
	if o.message == nil {
		return ""
	}
	return o.message.PlainText()
}

// sent is the body of the first attempt, as the provider tells it.
func (o *outcome) sent() string { return string(of[llm.Sent](o)[0].Body()) }

// received is the sum of the deltas of one attempt.
type received struct {
	parts []*receivedPart
	last  int // newest index
}

type receivedPart struct {
	text, reasoning, signature, json strings.Builder
	id, name                         string
	done                             llm.Part
	ready                            *llm.ToolCall
}

func (h *received) at(t testing.TB, i int) *receivedPart {
	t.Helper()
	if i < h.last {
		t.Errorf("the index of a delta went back from %d to %d", h.last, i)
	}
	if i > len(h.parts) {
		t.Fatalf("the index of a delta jumped to %d of %d parts", i, len(h.parts))
	}
	if i == len(h.parts) {
		h.parts = append(h.parts, &receivedPart{})
	}
	h.last = max(h.last, i)
	p := h.parts[i]
	if p.done != nil || p.ready != nil {
		t.Errorf("part %d went on after its end", i)
	}
	return p
}

// check tests the yielded values against the promises of package llm.
func (o *outcome) check(t testing.TB) {
	t.Helper()
	h := &received{}
	attempt, sent, retrying, committed := 0, 0, false, false
	for i, d := range o.deltas {
		last := i == len(o.deltas)-1
		switch d := d.(type) {
		case nil:
			if !last {
				t.Error("something was yielded after the error")
			}
		case llm.Sent:
			sent++
			attempt++
			if d.Attempt != attempt {
				t.Errorf("attempt %d calls itself %d", attempt, d.Attempt)
			}
			if attempt > 1 && !retrying {
				t.Error("a request was sent again without Retrying")
			}
			if committed {
				t.Error("a request was sent again after ToolReady")
			}
			h, retrying = &received{}, false
		case llm.Retrying:
			retrying = true
			if d.Attempt != attempt || d.Err == nil {
				t.Errorf("bad Retrying: %+v", d)
			}
		case llm.Done:
			if !last {
				t.Error("something was yielded after Done")
			}
		case llm.ToolReady:
			committed = true
			h.add(t, d)
		default:
			h.add(t, d)
		}
	}
	if (o.message != nil) == (o.err != nil) {
		t.Errorf("want either Done or an error, got message %v and error %v", o.message != nil, o.err)
	}
	if o.message != nil {
		h.checkMessage(t, o.message)
	}
	if e := llm.AsError(o.err); e != nil {
		h.checkPartial(t, e.Partial)
		if e.Attempts != sent {
			t.Errorf("the error counts %d attempts of %d", e.Attempts, sent)
		}
	}
}

func (h *received) add(t testing.TB, d llm.Delta) {
	t.Helper()
	switch d := d.(type) {
	case llm.TextDelta:
		h.at(t, d.Index).text.WriteString(d.Text)
	case llm.ReasoningDelta:
		p := h.at(t, d.Index)
		p.reasoning.WriteString(d.Text)
		p.signature.WriteString(d.Signature)
	case llm.ToolDelta:
		p := h.at(t, d.Index)
		if p.id == "" && p.json.Len() == 0 && (d.ID == "" || d.Name == "") {
			t.Errorf("the first delta of a call has no id or no name: %+v", d)
		}
		if d.ID != "" {
			p.id, p.name = d.ID, d.Name
		}
		p.json.WriteString(d.JSON)
	case llm.PartDone:
		h.at(t, d.Index).done = d.Part
	case llm.ToolReady:
		h.at(t, d.Index).ready = &d.Call
		if !isObject(d.Call.Input) || d.Call.Raw != "" || d.Call.ID == "" || d.Call.Name == "" {
			t.Errorf("a call was ready that cannot run: %+v", d.Call)
		}
	}
}

func isObject(b []byte) bool {
	b = bytes.TrimSpace(b)
	return len(b) > 1 && b[0] == '{' && b[len(b)-1] == '}'
}

// checkMessage compares the whole reply with its deltas. A call that the output limit cut has deltas but is
// not in the message.
func (h *received) checkMessage(t testing.TB, m *llm.Message) {
	t.Helper()
	if m.Role != llm.Assistant || m.Model == "" || m.Usage == nil || m.Stop == "" {
		t.Errorf("the message lacks role, model, usage or stop reason: %+v", m)
	}
	parts := h.parts
	if n := len(parts); n > 0 && n == len(m.Parts)+1 && m.Stop == llm.StopMaxTokens && parts[n-1].cut() {
		parts = parts[:n-1]
	}
	if len(parts) != len(m.Parts) {
		t.Fatalf("deltas told of %d parts, the message has %d: %+v", len(parts), len(m.Parts), m.Parts)
	}
	ids := map[string]bool{}
	for i, p := range parts {
		p.compare(t, i, m.Parts[i])
		if c, ok := m.Parts[i].(llm.ToolCall); ok {
			if c.ID == "" || ids[c.ID] {
				t.Errorf("the id %q of a call is empty or not its own", c.ID)
			}
			ids[c.ID] = true
		}
	}
}

// cut reports a call that began and never ended.
func (p *receivedPart) cut() bool { return p.id != "" && p.done == nil && p.ready == nil }

func (p *receivedPart) compare(t testing.TB, i int, part llm.Part) {
	t.Helper()
	ended := p.done
	if p.ready != nil {
		ended = *p.ready
	}
	if d := diff(part, ended); d != "" {
		t.Errorf("part %d differs from how it was ended (-message +ended):\n%s", i, d)
	}
	var want llm.Part
	switch part := part.(type) {
	case llm.Text:
		want = llm.Text{Text: p.text.String(), Opaque: part.Opaque}
	case llm.Reasoning:
		want = llm.Reasoning{
			Text: p.reasoning.String(), Signature: p.signature.String(), Data: part.Data,
			Provider: part.Provider, Opaque: part.Opaque,
		}
	case llm.ToolCall:
		got := p.call(part)
		got.Repeats = part.Repeats // which no delta tells
		want = got
	default:
		return
	}
	if d := diff(part, want); d != "" {
		t.Errorf("part %d differs from its deltas (-message +deltas):\n%s", i, d)
	}
}

// call returns the call reported by its deltas.
func (p *receivedPart) call(part llm.ToolCall) llm.ToolCall {
	text := strings.TrimSpace(p.json.String())
	if text == "" {
		text = "{}"
	}
	if part.Raw != "" {
		return llm.ToolCall{ID: p.id, Name: p.name, Input: []byte("{}"), Raw: p.json.String(), Opaque: part.Opaque}
	}
	return llm.ToolCall{ID: p.id, Name: p.name, Input: llm.AppendCanonical(nil, []byte(text)), Opaque: part.Opaque}
}

// checkPartial: an error carries the parts that had ended, in order, and every call that was ready.
func (h *received) checkPartial(t testing.TB, m *llm.Message) {
	t.Helper()
	var want []llm.Part
	for _, p := range h.parts {
		switch {
		case p.ready != nil:
			want = append(want, *p.ready)
		case p.done != nil:
			want = append(want, p.done)
		}
	}
	if m == nil {
		if len(want) > 0 {
			t.Errorf("the error has no Partial, but %d parts had ended", len(want))
		}
		return
	}
	if m.Role != llm.Assistant || m.Stop != llm.StopBroken || len(m.Parts) == 0 {
		t.Errorf("bad Partial: %+v", m)
	}
	if d := diff(m.Parts, want); d != "" {
		t.Errorf("Partial differs from what had ended (-partial +ended):\n%s", d)
	}
}
