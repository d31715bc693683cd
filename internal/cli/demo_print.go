package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// demoPrinter prints a turn as plain lines, as it happens, with or without a terminal. The first failed
// write is kept in err.
type demoPrinter struct {
	w      io.Writer
	colour bool
	open   bool // a line of the model's text is open
	err    error
}

func newDemoPrinter(w io.Writer, tty bool) *demoPrinter {
	return &demoPrinter{w: w, colour: tty && os.Getenv("NO_COLOR") == ""}
}

func (p *demoPrinter) write(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

// paint wraps s in an SGR sequence.
func (p *demoPrinter) paint(sgr, s string) string {
	if !p.colour || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

func (p *demoPrinter) end() {
	if p.open {
		p.write("\n")
		p.open = false
	}
}

func (p *demoPrinter) blank() { p.end(); p.write("\n") }

func (p *demoPrinter) line(format string, args ...any) {
	p.end()
	p.write("  " + fmt.Sprintf(format, args...) + "\n")
}

func (p *demoPrinter) dim(format string, args ...any) {
	p.end()
	p.write("  " + p.paint("2", fmt.Sprintf(format, args...)) + "\n")
}

func (p *demoPrinter) title(s string) { p.end(); p.write("\n" + p.paint("1", s) + "\n\n") }
func (p *demoPrinter) user(s string)  { p.end(); p.write(p.paint("1;36", "> "+s) + "\n\n") }

// event prints an event for people.
func (p *demoPrinter) event(b event.Body) {
	switch b := b.(type) {
	case event.Delta:
		if d, ok := b.Delta.(llm.TextDelta); ok {
			p.text(d.Text)
		}
	case event.PartDone:
		if _, ok := b.Part.(llm.Text); ok {
			p.end()
			p.write("\n")
		}
	case event.ToolStart:
		p.end()
		p.write("  " + p.paint("33", b.Call.Name) + " " + escape(b.Title) + "\n")
	case event.ToolEnd:
		p.result(b)
	}
}

// text prints a piece of the model's text, indented.
func (p *demoPrinter) text(s string) {
	if !p.open {
		p.write("  ")
		p.open = true
	}
	p.write(strings.ReplaceAll(escape(s), "\n", "\n  "))
}

// demoLines is how much of a result is shown.
const demoLines = 8

func (p *demoPrinter) result(e event.ToolEnd) {
	p.end()
	switch v := e.View.(type) {
	case event.Diff:
		_, hunks, _ := strings.Cut(v.Unified, "\n@@")
		p.diff("@@" + hunks) // the file is named above
	case event.Command:
		p.block(v.Output)
		p.status(e, fmt.Sprintf("exit code %d", v.ExitCode), v.ExitCode == 0)
	case event.Listing:
		p.block(strings.Join(v.Items, "\n"))
	default:
		text := e.Result.PlainText()
		p.status(e, fmt.Sprintf("%d lines", strings.Count(text, "\n")+1), !e.Result.IsError)
	}
	p.write("\n")
}

func (p *demoPrinter) status(e event.ToolEnd, what string, ok bool) {
	colour := "32"
	if !ok {
		colour = "31"
	}
	p.write("    " + p.paint(colour, what) + p.paint("2", ", "+shortTime(e.Duration)) + "\n")
}

func shortTime(d time.Duration) string {
	if d < time.Millisecond {
		return "under 1ms"
	}
	return d.Round(time.Millisecond).String()
}

// block prints the first lines of a text, indented and dimmed.
func (p *demoPrinter) block(s string) {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		if i == demoLines {
			p.write("    " + p.paint("2", fmt.Sprintf("... %d more lines", len(lines)-i)) + "\n")
			return
		}
		p.write("    " + p.paint("2", escape(l)) + "\n")
	}
}

// diff prints a unified diff in colour.
func (p *demoPrinter) diff(s string) {
	for l := range strings.Lines(s) {
		l = strings.TrimSuffix(l, "\n")
		sgr := ""
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "diff "),
			strings.HasPrefix(l, "index "):
			sgr = "2"
		case strings.HasPrefix(l, "+"):
			sgr = "32"
		case strings.HasPrefix(l, "-"):
			sgr = "31"
		case strings.HasPrefix(l, "@@"):
			sgr = "36"
		}
		p.write("    " + p.paint(sgr, escape(l)) + "\n")
	}
}
