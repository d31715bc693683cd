package repl

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// shownLines and shownChars are how much of a tool's output is shown.
const (
	shownLines = 12
	shownChars = 500
	diffLines  = 60
)

// printer knows how much of the present reply was shown.
type printer struct {
	id    string
	part  int
	shown map[int]bool
}

// event shows an event.
func (r *repl) event(e event.Event) {
	switch b := e.Body.(type) {
	case event.Opened:
		r.opened(b)
		return
	case event.Status:
		opened := b.Session != r.status.Session
		r.status = b
		if text := b.Cache.Notice(time.Now()); opened && text != "" {
			r.notice(event.Notice{Level: "info", Text: text})
		}
		return
	case event.Asked:
		r.asked(e.Session, b)
		return
	case event.State:
		r.state(b)
		return
	case event.Answered:
		r.answered(b)
		return
	case event.Notice:
		r.notice(b)
		return
	}
	if len(e.Agent) > 0 { // a subagent's work is reported by its call
		return
	}
	r.turn(e.Body)
}

// turn shows the events of a turn.
func (r *repl) turn(body event.Body) {
	switch b := body.(type) {
	case event.TurnStart:
		r.out.working("Thinking")
	case event.Returned:
		r.back = b.Message.PlainText()
	case event.UserMessage:
		if b.Steered {
			r.out.line("(delivered: %s)", firstLine(session.StripContext(b.Message).PlainText()))
		}
		if len(b.Attached) > 0 {
			r.out.line("(attached %s)", strings.Join(b.Attached, ", "))
		}
		for _, text := range b.Told {
			r.out.line("(told the model: %s)", firstLine(text))
		}
	case event.Delta:
		r.delta(b.ForPeople())
	case event.PartDone:
		r.partDone(b.ForPeople())
	case event.Retry:
		r.printer = printer{}
		r.out.line("retry %d of %d in %s: %s", b.Attempt, b.Max, b.Delay.Round(100*time.Millisecond), b.Err)
	case event.ToolStart:
		r.out.rest()
		r.out.working(b.Title)
		if b.Call.Name != "!" {
			r.out.working(cmp.Or(toolTitle(b.Call.Name, b.Title), "Working"))
		}
	case event.ToolOutput:
		if strings.HasPrefix(b.CallID, "user_") {
			r.out.stream(b.Text)
		}
	case event.ToolEnd:
		r.toolEnd(b)
	case event.Compacting:
		r.out.working("Compacting")
	case event.Compacted:
		r.out.rest()
		r.out.block(b.String())
	case event.EvalStart:
		r.out.working("Judging")
	case event.EvalComplete:
		r.out.rest()
		r.out.block(b.String())
	case event.Goal:
		r.out.rest()
		r.out.block(b.String())
	case event.ModeChanged:
		r.status.Mode = b.Mode
		r.out.line("mode: %s", b.Mode)
	case event.TurnEnd:
		r.turnEnd(b)
	}
}

func (r *repl) delta(b event.Delta) {
	d, ok := b.Delta.(llm.TextDelta)
	if !ok || d.Text == "" {
		return
	}
	r.text(b.MessageID, d.Index, d.Text)
}

// text shows a piece of a reply, texts apart from each other.
func (r *repl) text(id string, index int, text string) {
	p := &r.printer
	if p.id != id {
		*p = printer{id: id, part: -1, shown: map[int]bool{}}
	}
	if p.part != index {
		r.out.rest()
	}
	p.part, p.shown[index] = index, true
	r.out.stream(text)
}

// partDone shows a text that did not stream, and ends one that did.
func (r *repl) partDone(b event.PartDone) {
	t, ok := b.Part.(llm.Text)
	if !ok {
		return
	}
	if p := &r.printer; p.id != b.MessageID || !p.shown[b.Index] {
		r.text(b.MessageID, b.Index, t.Text)
	}
	if r.printer.part == b.Index {
		r.out.rest()
	}
}

func (r *repl) turnEnd(b event.TurnEnd) {
	r.printer = printer{}
	r.out.working("")
	r.out.rest()
	switch {
	case b.Err != "":
		r.out.line("error: %s", b.Err)
	case b.Reason != event.EndCompleted:
		r.out.line("(%s)", strings.ReplaceAll(string(b.Reason), "_", " "))
	}
	said := fmt.Sprintf("%d steps", b.Steps)
	if b.Steps == 1 {
		said = "1 step"
	}
	if b.CostUSD > 0 {
		said += fmt.Sprintf(", $%.4f", b.CostUSD)
	}
	r.out.line("(%s, %s)", said, b.Duration.Round(100*time.Millisecond))
}

// toolEnd shows a call's result: its state, and the beginning of its view.
func (r *repl) toolEnd(b event.ToolEnd) {
	if b.Call.Name == "!" {
		r.ownEnd(b)
		return
	}
	mark := "ok"
	switch {
	case b.Denied:
		mark = "denied"
	case b.Result.IsError:
		mark = "failed"
	}
	title := toolTitle(b.Call.Name, b.Title)
	if r.o.Colour {
		r.out.painted(iconOf(b.Call.Name)+" "+title, func(line string) string { return colourOf[mark] + line + plainColour })
	} else {
		r.out.line("[%s] %s", mark, title)
	}
	text := viewText(b.View)
	if b.Denied || b.Result.IsError && text == "" {
		text = b.ForPeople()
	}
	_, isDiff := b.View.(event.Diff)
	switch {
	case text == "":
	case isDiff && r.o.Colour && !b.Denied:
		r.out.painted(indent(text), diffColour)
	default:
		r.out.block(indent(text))
	}
	r.out.working("Thinking")
}

// ownEnd closes a command of the user's, whose output was shown as it came.
func (r *repl) ownEnd(b event.ToolEnd) {
	r.own = max(r.own-1, 0)
	r.out.working("")
	r.out.rest()
	if v, ok := b.View.(event.Command); ok && (v.ExitCode != 0 || v.Cancelled) {
		if v.ExitCode < 0 && v.Output != "" {
			r.out.block(v.Output)
		}
		r.out.line("(exit code %d)", v.ExitCode)
	}
}

// toolTitle is "Read internal/x.go".
func toolTitle(name, title string) string {
	title = firstLine(title)
	if title == "" || strings.HasPrefix(title, name) {
		return strings.TrimSpace(name + strings.TrimPrefix(title, name))
	}
	return name + " " + title
}

// viewText is a view as a few lines of text.
func viewText(v event.View) string {
	switch v := v.(type) {
	case event.Diff:
		return fmt.Sprintf("+%d -%d\n%s", v.Added, v.Removed, clip(v.Unified, diffLines, 1<<20))
	case event.Command:
		out := clip(v.Output, shownLines, shownChars)
		if v.ExitCode != 0 || v.TimedOut {
			how := fmt.Sprintf("exit code %d", v.ExitCode)
			if v.TimedOut {
				how = "timed out"
			}
			out = strings.TrimLeft(out+"\n"+how, "\n")
		}
		return out
	case event.Listing:
		return clip(strings.Join(v.Items, "\n"), shownLines, shownChars)
	case event.TextView:
		return v.Summary
	case event.Todo:
		return todoText(v)
	case event.Subagent:
		return clip(v.Result, shownLines, shownChars)
	}
	return ""
}

func todoText(v event.Todo) string {
	marks := map[string]string{"completed": "[x] ", "in_progress": "[>] "}
	var b strings.Builder
	for _, i := range v.Items {
		b.WriteString(cmp.Or(marks[i.Status], "[ ] ") + firstLine(i.Content) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// clip keeps the beginning of a text.
func clip(s string, lines, chars int) string {
	s = strings.TrimRight(s, "\n")
	all := strings.Split(s, "\n")
	n, size := 0, 0
	for n < len(all) && n < lines && size < chars {
		size += len(all[n]) + 1
		n++
	}
	out := strings.Join(all[:n], "\n")
	if r := []rune(out); len(r) > 4*chars {
		out = string(r[:4*chars]) + "…"
	}
	if n < len(all) {
		out += fmt.Sprintf("\n... %d more lines", len(all)-n)
	}
	return out
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

func (r *repl) notice(b event.Notice) {
	text := b.Text
	if b.Level != "info" {
		text = b.Level + ": " + text
	}
	r.out.block(text)
}

// opened shows the session in front: its title, last prompt and last reply.
func (r *repl) opened(b event.Opened) {
	r.printer = printer{}
	if len(b.History) == 0 {
		r.out.line("lathe %s in %s. /help lists the commands.", r.o.Version, b.Dir)
		return
	}
	prompts, reply := 0, ""
	prompt := ""
	for _, h := range b.History {
		switch h := h.(type) {
		case event.UserMessage:
			if !h.Synthetic {
				prompts++
				prompt, reply = firstLine(session.StripContext(h.Message).PlainText()), ""
			}
		case event.PartDone:
			if t, ok := h.Part.(llm.Text); ok {
				reply = t.Text
			}
		}
	}
	r.out.line("session %s: %s (%d prompts so far)", b.Session, cmp.Or(b.Title, "without a title"), prompts)
	if prompt != "" {
		r.out.line("%s%s", promptText, prompt)
	}
	if reply != "" {
		r.out.block(clip(reply, 2*shownLines, 4*shownChars))
	}
}
