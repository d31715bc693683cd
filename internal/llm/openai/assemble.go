package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// assembly collects the parts of a reply and yields deltas in the order of the parts: while a part is open,
// pieces of later ones are held back, since indexes must not decrease.
type assembly struct {
	yield   func(llm.Delta) bool
	stopped bool
	host    string // owner of signatures

	parts   []*part
	front   int // the first part that is not closed; all earlier ones were yielded completely
	calls   int
	refused bool
	space   string // white space that may begin a text
	ids     llm.CallIDs
}

type part struct {
	repeats string // a call: see llm.ToolCall.Repeats
	kind    partKind
	text    []byte // of a call: the arguments' JSON text
	sent    int    // bytes of text that were yielded
	newest  string // the end of text that was added last
	opened  bool   // the first delta of a call was yielded
	closed  bool   // complete
	broken  bool   // a call whose text is not a JSON object
	cut     bool   // a broken call at the end of a reply that the output limit ended

	index int // of a call: the server's, or -1
	seen  string
	id    string
	name  string
	ready llm.Part

	details []json.RawMessage // of a thought: its reasoning_details
	extra   json.RawMessage   // of a text or call: its extra_content
	item    json.RawMessage   // Responses: members that go back with the part, an object
}

type partKind int

const (
	textPart partKind = iota
	thoughtPart
	callPart
	itemPart // Responses: an item that lathe does not interpret
)

// err returns ErrStopped once the consumer has stopped.
func (a *assembly) err() error {
	if a.stopped {
		return llm.ErrStopped
	}
	return nil
}

func (a *assembly) send(d llm.Delta) {
	if !a.stopped && !a.yield(d) {
		a.stopped = true
	}
}

// last returns the newest part if it is of that kind.
func (a *assembly) last(kind partKind) *part {
	if n := len(a.parts); n > 0 && a.parts[n-1].kind == kind {
		return a.parts[n-1]
	}
	return nil
}

// open appends a part. Earlier texts are then complete, and so are calls whose object is complete.
func (a *assembly) open(kind partKind) *part {
	for _, p := range a.parts[a.front:] {
		if p.kind != callPart || p.name != "" && llm.IsObject(p.text) {
			p.closed = true
		}
	}
	p := &part{kind: kind, index: -1}
	a.parts = append(a.parts, p)
	a.flush()
	return p
}

func (a *assembly) said(s string) {
	if s == "" {
		return
	}
	p := a.last(textPart)
	if p == nil {
		// White space between other parts is no text.
		a.space += s
		if strings.TrimSpace(a.space) == "" {
			return
		}
		s, a.space = a.space, ""
		p = a.open(textPart)
	}
	p.add(s)
	a.flush()
}

// add adds a piece to the text.
func (p *part) add(s string) {
	p.text, p.newest = append(p.text, s...), s
}

// fresh returns the text that was not yielded.
func (p *part) fresh() string {
	if rest := p.text[p.sent:]; string(rest) != p.newest {
		return string(rest)
	}
	return p.newest
}

func (a *assembly) thought(s string) {
	if s == "" {
		return
	}
	p := a.last(thoughtPart)
	if p == nil {
		p = a.open(thoughtPart)
	}
	p.add(s)
	a.flush()
}

// piece handles a piece of a call.
func (d *decoder) piece(c *callPiece) error {
	if c.Index == nil && c.ID == "" && c.Function.Name == "" && !hasValue(c.Function.Arguments) {
		return nil // null in the list of calls
	}
	args, whole, err := argumentsOf(c.Function.Arguments)
	if err != nil {
		return err
	}
	p := d.find(c)
	if p == nil {
		d.space = ""
		p = d.open(callPart)
		d.calls++
		p.seen, p.id = c.ID, d.ids.Unique(c.ID)
		p.repeats = d.ids.Repeats(p.id)
		if c.Index != nil {
			p.index = *c.Index
		}
	} else if p.closed {
		return repeated(p, args)
	} else if p.seen == "" && c.ID != "" {
		if p.seen = c.ID; !p.opened {
			p.id = d.ids.Unique(c.ID)
			p.repeats = d.ids.Repeats(p.id)
		}
	}
	p.rename(c.Function.Name)
	p.sign(c.ExtraContent)
	if !whole || string(p.text) != args {
		p.add(args)
	}
	d.flush()
	return nil
}

// repeated accepts a piece for a closed call only if it adds nothing.
func repeated(p *part, args string) error {
	if t := strings.TrimSpace(args); t == "" || t == string(bytes.TrimSpace(p.text)) {
		return nil
	}
	return fmt.Errorf("the call of %s went on after its end", llm.Clean(p.name))
}

// rename sets the name, which may arrive late, in pieces, or repeatedly.
func (p *part) rename(name string) {
	switch {
	case name == "" || p.opened || strings.HasPrefix(p.name, name):
	case strings.HasPrefix(name, p.name):
		p.name = name
	default:
		p.name += name
	}
}

// find returns the call that a piece belongs to, or nil for a new one.
func (d *decoder) find(c *callPiece) *part {
	var p *part
	for _, q := range d.parts {
		if q.kind == callPart && (c.Index == nil || q.index == *c.Index) {
			p = q // the newest: some servers use one index for all
		}
	}
	switch {
	case p == nil:
		return nil
	case c.ID != "" && p.seen != "" && c.ID != p.seen:
		return nil
	case c.ID != "" && c.ID == p.seen, c.Function.Name == "", p.name == "":
		return p
	case llm.IsObject(p.text), c.Index == nil && len(p.text) == 0:
		return nil // no id to compare, but a name after a call that may be complete
	}
	return p
}

// argumentsOf reads arguments: a string, or the object itself, which is then complete.
func argumentsOf(raw json.RawMessage) (args string, whole bool, err error) {
	switch {
	case !hasValue(raw):
		return "", false, nil
	case raw[0] == '"':
		args, err = unquote(raw)
		return args, false, err
	case raw[0] == '{':
		return string(raw), true, nil
	}
	return "", false, errors.New("arguments are neither a string nor an object")
}

// settle closes everything: the reply is finished. limited says that the output limit may have ended it; only its last
// part can have been cut by that.
func (a *assembly) settle(limited bool) {
	for i := a.front; i < len(a.parts); i++ {
		p := a.parts[i]
		p.closed = true
		if p.kind != callPart {
			p.cut = p.kind == itemPart && p.item == nil
			continue
		}
		cut := i == len(a.parts)-1 && limited
		if len(bytes.TrimSpace(p.text)) == 0 && !cut {
			p.text, p.sent = []byte("{}"), 0 // a call without arguments
		}
		p.broken = !llm.IsObject(p.text) || p.name == ""
		p.cut = p.broken && cut
	}
	a.flush()
}

// midCall reports whether the last part is an incomplete call.
func (a *assembly) midCall() bool {
	p := a.last(callPart)
	return p != nil && !llm.IsObject(p.text)
}

// flush yields everything that is ready.
func (a *assembly) flush() {
	for a.front < len(a.parts) {
		p := a.parts[a.front]
		a.grow(p)
		if !p.closed {
			return
		}
		a.close(p)
		a.front++
	}
}

// grow yields the new content of the front part.
func (a *assembly) grow(p *part) {
	fresh := p.fresh()
	switch p.kind {
	case textPart:
		if fresh != "" {
			a.send(llm.TextDelta{Index: a.front, Text: fresh})
		}
	case thoughtPart:
		if fresh != "" {
			a.send(llm.ReasoningDelta{Index: a.front, Text: fresh})
		}
	case callPart:
		if !a.growCall(p, fresh) {
			return
		}
	}
	p.sent = len(p.text)
}

// growCall yields nothing before the call's id and name are known.
func (a *assembly) growCall(p *part, fresh string) bool {
	if !p.opened {
		if p.name == "" && !p.closed {
			return false
		}
		p.opened = true
		a.send(llm.ToolDelta{Index: a.front, ID: p.id, Name: cmp.Or(p.name, noName), JSON: fresh})
		return true
	}
	if fresh != "" {
		a.send(llm.ToolDelta{Index: a.front, JSON: fresh})
	}
	return true
}

func (a *assembly) close(p *part) {
	p.ready = p.made(a.host)
	switch {
	case p.cut:
	case p.kind != callPart || p.broken:
		a.send(llm.PartDone{Index: a.front, Part: p.ready})
	default:
		a.send(llm.ToolReady{Index: a.front, Call: p.ready.(llm.ToolCall)})
	}
}

// made returns the part for the message.
func (p *part) made(host string) llm.Part {
	switch p.kind {
	case textPart:
		return llm.Text{Text: string(p.text), Opaque: cmp.Or(extraOpaque(host, p.extra), itemOpaque(host, p.item))}
	case itemPart:
		return llm.Opaque{Provider: host, JSON: p.item}
	case thoughtPart:
		return llm.Reasoning{Text: string(p.text), Provider: host, Opaque: cmp.Or(detailsOpaque(host, p.details),
			itemOpaque(host, p.item))}
	}
	c := llm.ToolCall{ID: p.id, Name: cmp.Or(p.name, noName), Opaque: extraOpaque(host, p.extra), Repeats: p.repeats}
	if p.broken {
		c.Input, c.Raw = json.RawMessage("{}"), cmp.Or(string(p.text), "{}")
		return c
	}
	input := bytes.TrimSpace(p.text)
	c.Input = llm.AppendCanonical(make([]byte, 0, len(input)), input)
	return c
}

// noName is the name of a call that the server gave none: it is answered, and never run.
const noName = "unknown"

// complete returns the complete parts: all of a finished reply except a call that was cut, or those received
// before the stream broke.
func (a *assembly) complete() []llm.Part {
	out := make([]llm.Part, 0, a.front)
	for _, p := range a.parts[:a.front] {
		if !p.cut {
			out = append(out, p.ready)
		}
	}
	return out
}
