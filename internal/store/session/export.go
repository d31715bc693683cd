package session

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// ExportFormat is a form that a session can be written in.
type ExportFormat string

// The forms: every good line of the log as it is; the head branch to read, as Markdown or as one HTML
// file that needs nothing else.
const (
	JSONL    ExportFormat = "jsonl"
	Markdown ExportFormat = "markdown"
	HTML     ExportFormat = "html"
)

// Export writes a session. It reads the log as it goes and holds one exchange at a time.
func Export(w io.Writer, s *Session, format ExportFormat) error {
	buf := bufio.NewWriterSize(w, 64<<10)
	var err error
	switch format {
	case JSONL:
		err = exportLines(buf, s)
	case Markdown:
		err = s.render(&markdown{w: buf})
	case HTML:
		err = s.render(&htmlPage{w: buf})
	default:
		err = fmt.Errorf("session: cannot export as %q: the formats are jsonl, markdown and html", format)
	}
	return errors.Join(err, buf.Flush())
}

func exportLines(w *bufio.Writer, s *Session) error {
	lr := newLogReader(io.NewSectionReader(s.whole(), 0, s.Info().Size))
	for {
		rec, err := lr.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("session: read %s: %w", s.Path(), err)
		}
		if rec.err != nil {
			continue
		}
		if _, err := w.Write(rec.bytes); err != nil {
			return err
		}
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
}

// renderer writes the parts of a conversation for people. Its writer keeps the first error.
type renderer interface {
	begin(Info)
	user(User, time.Time)
	text(string)
	reasoning(string)
	media(llm.Media)
	assistant(llm.Message, time.Time)
	call(llm.ToolCall, CallEnd)
	end()
}

// render shows the head branch to r, each call together with its result.
func (s *Session) render(r renderer) error {
	r.begin(s.Info())
	x := exporter{r: r, ends: map[string]CallEnd{}, made: map[string]llm.ToolCall{}, below: map[string][]CallEnd{}}
	s.mu.Lock()
	refs := s.j.branch(s.j.head)
	s.mu.Unlock()
	bad, err := refs.eachBody(s.whole(), &decoder{}, func(_ int, env envelope, b Body) bool {
		x.take(b, env.when())
		return true
	})
	if err != nil {
		return err
	}
	x.t.settle()
	x.drain(time.Time{})
	r.end()
	if len(bad) > 0 {
		return fmt.Errorf("session: %d entries could not be read and are left out; lathe session verify %s shows them",
			len(bad), s.id)
	}
	return nil
}

// exporter groups entries: calls with their results, parts with their replies.
type exporter struct {
	r    renderer
	t    transcript
	ends map[string]CallEnd // of the exchange that is open
	said *llm.Message       // a reply whose results are to come
	at   time.Time

	made  map[string]llm.ToolCall // calls as they ran that no reply tells so, by id
	below map[string][]CallEnd    // their ends, by the call that made them
}

func (x *exporter) take(b Body, when time.Time) {
	u, isUser := b.(User)
	if isUser { // ends the open reply; the message itself is shown with its flags
		x.t.settle()
		x.drain(when)
		x.r.user(u, when)
		x.contents(forPeople(u.Message))
		return
	}
	switch b := b.(type) {
	case Compaction:
		x.compaction(b, when)
	case CallStart:
		if b.Call != nil {
			x.made[b.CallID] = *b.Call
		}
	case CallEnd:
		x.end(b)
	}
	x.t.apply(b, 0)
	x.drain(when)
}

// end notes the end of a call. One that no call made is shown at once.
func (x *exporter) end(c CallEnd) {
	id := c.Result.CallID
	if c.Call != nil {
		x.made[id] = *c.Call
	}
	if !c.Invoked {
		x.ends[id] = c
		return
	}
	if c.Parent == "" {
		x.r.call(x.made[id], c)
		return
	}
	x.below[c.Parent] = append(x.below[c.Parent], c)
}

// call shows a call with those that it made.
func (x *exporter) call(c llm.ToolCall, end CallEnd) {
	x.r.call(c, end)
	made := x.below[c.ID]
	delete(x.below, c.ID)
	for _, end := range made {
		x.call(x.made[end.Result.CallID], end)
	}
}

// compaction marks the place where the conversation as it is sent changed.
func (x *exporter) compaction(c Compaction, when time.Time) {
	x.r.user(User{Synthetic: true}, when)
	if c.Level == 0 {
		x.r.text("From here on the model gets a note instead of an image that its provider refused.")
		return
	}
	x.r.text(fmt.Sprintf("The conversation was compacted here, from about %d tokens to %d. All of it stays in this log.",
		c.TokensBefore, c.TokensAfter))
	for _, m := range c.Messages {
		x.contents(forPeople(m))
	}
}

// drain shows the messages that are complete and forgets them.
func (x *exporter) drain(when time.Time) {
	for _, m := range x.t.msgs {
		switch {
		case m.Role == llm.Assistant && len(m.Calls()) > 0:
			x.said, x.at = &m, when
		case m.Role == llm.Assistant:
			x.reply(m, when, nil)
		case x.said != nil:
			x.reply(*x.said, x.at, m.Parts)
			x.said = nil
			clear(x.ends)
		}
	}
	x.t.msgs, x.t.ends = nil, nil
}

// reply shows a reply with the results of its calls, which are in the order of the calls.
func (x *exporter) reply(m llm.Message, when time.Time, results []llm.Part) {
	x.r.assistant(m, when)
	for _, p := range m.Parts {
		c, ok := p.(llm.ToolCall)
		if !ok {
			x.contents([]llm.Part{p})
			continue
		}
		end := x.ends[c.ID]
		if len(results) > 0 {
			end.Result, _ = results[0].(llm.ToolResult)
			results = results[1:]
		}
		if ran, ok := x.made[c.ID]; ok {
			c = ran
		}
		x.call(c, end)
	}
}

func (x *exporter) contents(parts []llm.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			x.r.text(p.Text)
		case llm.Reasoning:
			x.r.reasoning(p.Text)
		case llm.Media:
			x.r.media(p)
		}
	}
}

// view is the exported form of a call's view: a diff, where it is one.
type view struct {
	Shape   string `json:"shape"`
	Unified string `json:"unified"`
}

func diffOf(end CallEnd) string {
	v, err := unmarshal[view](end.View)
	if err != nil || v.Shape != "diff" {
		return ""
	}
	return v.Unified
}

// sessionName is the name of a session for people.
func sessionName(i Info) string { return cmp.Or(i.Title, i.FirstPrompt, i.ID) }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// state says in a word how a call went.
func state(end CallEnd) string {
	switch {
	case end.Denied:
		return "denied"
	case end.Result.IsError:
		return "error"
	}
	return ""
}
