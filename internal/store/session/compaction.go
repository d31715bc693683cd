package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Compaction shortens the conversation as it is sent from here on; the entries before it stay in the log. Several may
// follow each other: each works on the result of those before it. Messages take the place of all messages that were
// complete with the entry Until; without them, these stay, but for Media and DropReasoning. Stubs concern results
// before and after Until.
type Compaction struct {
	Level    int           `json:"level"`              // how much was taken away, from 1
	Trigger  string        `json:"trigger,omitempty"`  // "auto", "overflow", "manual"
	Until    string        `json:"until"`              // the id of an entry of the branch
	Messages []llm.Message `json:"messages,omitempty"` // text and media only

	Stubs         []Stub      `json:"stubs,omitempty"`          // results of calls that are sent as a text
	Media         []MediaStub `json:"media,omitempty"`          // images and other media that are sent as a text
	DropReasoning bool        `json:"drop_reasoning,omitempty"` // reasoning is not sent

	TokensBefore int     `json:"tokens_before,omitempty"` // of the prompt, about
	TokensAfter  int     `json:"tokens_after,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"` // of the request for the summary, in old logs
	Failed       string  `json:"failed,omitempty"`   // why no model wrote the summary; an extract took its place
}

// SummaryText is the text that took the place of older messages; "" where none did.
func (c Compaction) SummaryText() string {
	var texts []string
	for _, m := range c.Messages {
		texts = append(texts, m.PlainText())
	}
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}

// Stub is the text that replaces the result of a call.
type Stub struct {
	CallID string `json:"call_id"`
	Text   string `json:"text"`
}

// MediaStub is the text that replaces a medium, wherever its bytes are sent: in a message of the user or in
// the result of a call.
type MediaStub struct {
	SHA256 string `json:"sha256"` // of the bytes, in hexadecimal
	Text   string `json:"text"`
}

// Kind is its name in the log.
func (Compaction) Kind() string { return "compaction" }

// Compact adds a compaction. It does not fsync: after a power cut the conversation is as it was before, or as the next
// entry that is fsynced found it, and no request waits for the disk. Messages begins with the compacted form
// afterwards, and the messages that follow Until keeps its parts; the replies that are kept lose their Usage, which has
// the size of another prompt. It is an error while a reply is open or a call has no result, and when Until would part a
// call from its result. Checkout to an entry before the compaction takes it back.
func (s *Session) Compact(_ context.Context, c Compaction) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.add(c, false)
	return err
}

// Until is the id of the entry with which the first n messages were complete, for a compaction of these; n
// counts from 1.
func (s *Session) Until(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 1 || n > len(s.t.ends) {
		return ""
	}
	return s.j.idAt(s.t.ends[n-1])
}

// InContext reports whether the result of a call, or the file of an AttachedID, is in Messages unchanged: no compaction
// dropped it or replaced it by a stub, and it is on the current branch.
func (s *Session) InContext(callID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.t.heldAt(callID) > 0
}

// Ago is how many messages follow the result of a call that is in context.
func (s *Session) Ago(callID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.t.msgs) - s.t.heldAt(callID)
}

// Revision changes whenever Messages does otherwise than to grow: with a compaction and with a checkout.
func (s *Session) Revision() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// checkCompaction returns the compaction in the form that is kept.
func (s *Session) checkCompaction(c Compaction) (Body, error) {
	if len(s.t.open) > 0 || len(s.t.calls) > 0 {
		return nil, errors.New("session: cannot compact while a reply is open or a call has no result")
	}
	place, ok := find(&s.j.index, c.Until)
	if !ok || !s.j.follows(s.j.head, place) {
		return nil, fmt.Errorf("session: cannot compact until %q: no such entry on this branch", c.Until)
	}
	n := s.t.complete(place)
	switch {
	case n == 0:
		return nil, fmt.Errorf("session: cannot compact until %q: no message is complete by then", c.Until)
	case n != s.t.whole(n):
		return nil, fmt.Errorf("session: cannot compact until %q: it parts a call from its result", c.Until)
	case len(c.Messages) == 0 && len(c.Stubs) == 0 && len(c.Media) == 0 && !c.DropReasoning:
		return nil, errors.New("session: a compaction needs messages, stubs or reasoning to drop")
	}
	c.Media = slices.Clone(c.Media)
	for i, m := range c.Media {
		c.Media[i] = MediaStub{cleanText(m.SHA256), cleanText(m.Text)}
	}
	c.Messages, c.Stubs = slices.Clone(c.Messages), slices.Clone(c.Stubs)
	for i, m := range c.Messages {
		parts, err := cleanContents(m.Parts)
		if err != nil || m.Role != llm.User && m.Role != llm.Assistant {
			return nil, errors.Join(fmt.Errorf("session: message %d of a compaction cannot be kept", i+1), err)
		}
		c.Messages[i] = llm.Message{Role: m.Role, Parts: parts, Model: cleanText(m.Model)}
	}
	for i, st := range c.Stubs {
		c.Stubs[i] = Stub{cleanText(st.CallID), cleanText(st.Text)}
	}
	return c, nil
}

// complete is how many messages were complete with the entry at a place.
func (t *transcript) complete(place int32) int {
	n, found := slices.BinarySearch(t.ends, place)
	for found && n < len(t.ends) && t.ends[n] == place {
		n++
	}
	return n
}

// whole is the largest number of messages, n or less, behind which no results belong to calls before it.
func (t *transcript) whole(n int) int {
	for n > 0 && n < len(t.msgs) && answers(t.msgs[n]) {
		n--
	}
	return n
}

// answers reports whether a message has results of calls.
func answers(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, ok := p.(llm.ToolResult); return ok })
}

// compact applies a compaction until the entry at a place. Nothing that Messages returned before is written to.
func (t *transcript) compact(c Compaction, place int32) {
	n := t.whole(t.complete(place))
	if n == 0 {
		return
	}
	head, ends := c.Messages, make([]int32, len(c.Messages))
	if len(head) == 0 {
		head, ends = c.edit(t.msgs[:n], true), t.ends[:n]
	} else {
		for i := range ends {
			ends[i] = t.ends[n-1]
		}
	}
	for _, st := range c.Stubs {
		t.stub(st.CallID)
	}
	t.stubMedia(c.Media, t.msgs[:n])
	t.held, t.heldTo = nil, 0
	msgs := slices.Concat(head, c.edit(t.msgs[n:], false))
	for i := range msgs {
		if !c.onlyMedia() {
			msgs[i].Usage = nil
		}
	}
	t.msgs, t.ends = msgs, slices.Concat(ends, t.ends[n:])
}

// heldAt is the number of the message, from 1, with the whole result of a call; 0: there is none. Entries since the
// last time are indexed first.
func (t *transcript) heldAt(callID string) int {
	if t.held == nil {
		t.held = map[string]int{}
	}
	for ; t.heldTo < len(t.msgs); t.heldTo++ {
		for _, p := range t.msgs[t.heldTo].Parts {
			if r, ok := p.(llm.ToolResult); ok {
				t.held[r.CallID] = t.heldTo + 1
				if t.stubbed[r.CallID] {
					t.held[r.CallID] = 0
				}
			} else if name, _, ok := attachedName(p); ok {
				t.held[AttachedID(name)] = t.heldTo + 1
			}
		}
	}
	if at, ok := t.held[callID]; ok {
		return at
	}
	// A call made by another one ("ID.2") is held by the result of that.
	if n := strings.LastIndexByte(callID, '.'); n > 0 && !strings.HasPrefix(callID, attachedID) {
		return t.held[callID[:n]]
	}
	return 0
}

// edit returns messages with the stubs in place and, up to Until, without the media and the reasoning that are
// dropped. A reply of only reasoning is left as it is: a message needs parts.
func (c Compaction) edit(msgs []llm.Message, upTo bool) []llm.Message {
	if !upTo {
		c.Media, c.DropReasoning = nil, false
	}
	if len(c.Stubs) == 0 && len(c.Media) == 0 && !c.DropReasoning {
		return msgs
	}
	stubs := make(map[string]string, len(c.Stubs))
	for _, s := range c.Stubs {
		stubs[s.CallID] = s.Text
	}
	media := mediaTexts(c.Media)
	out := slices.Clone(msgs)
	for i, m := range out {
		var parts []llm.Part
		changed := false
		for _, p := range m.Parts {
			if _, ok := p.(llm.Reasoning); ok && c.DropReasoning {
				changed = true
				continue
			}
			if r, ok := p.(llm.ToolResult); ok {
				if text, ok := stubs[r.CallID]; ok {
					r.Parts, changed = []llm.Part{llm.Text{Text: text}}, true
					p = r
				}
			}
			if q, ok := media.replace(p); ok {
				p, changed = q, true
			}
			parts = append(parts, p)
		}
		if changed && len(parts) > 0 {
			out[i].Parts = parts
		}
	}
	return out
}

// follows reports whether the entry at a place is on the branch that ends at head.
func (j *journal) follows(head, place int32) bool {
	for head > place {
		head = j.refs[head].parent
	}
	return head == place
}
