package session

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// markdown renders a session as Markdown. Foreign text is in fences that it cannot close, or as it is
// where it was written as Markdown (prompts and answers).
type markdown struct{ w *bufio.Writer }

func (m *markdown) put(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

func (m *markdown) begin(i Info) {
	m.put("# %s\n\n", oneLine(sessionName(i)))
	m.put("Session `%s`", i.ID)
	if i.Dir != "" {
		m.put(" in `%s`", strings.ReplaceAll(oneLine(i.Dir), "`", "'"))
	}
	if !i.Created.IsZero() {
		m.put(", begun %s", stamp(i.Created))
	}
	m.put("\n")
}

func (m *markdown) heading(who string, when time.Time) {
	m.put("\n## %s", who)
	if s := stamp(when); s != "" {
		m.put(" · %s", s)
	}
	m.put("\n")
}

func (m *markdown) user(u User, when time.Time) {
	switch {
	case u.Synthetic:
		m.heading("lathe", when)
	case u.Steered:
		m.heading("User (while it worked)", when)
	default:
		m.heading("User", when)
	}
}

func (m *markdown) assistant(msg llm.Message, when time.Time) {
	who := "Assistant"
	if msg.Model != "" {
		who += " (" + oneLine(msg.Model) + ")"
	}
	m.heading(who, when)
}

func (m *markdown) text(s string) { m.put("\n%s\n", strings.TrimRight(s, "\n")) }

func (m *markdown) reasoning(s string) {
	if s != "" {
		m.put("\n<details><summary>Reasoning</summary>\n\n%s\n</details>\n", fence("text", s))
	}
}

func (m *markdown) media(p llm.Media) {
	m.put("\n*[%s, %d bytes]*\n", oneLine(strings.TrimSpace(p.MIME+" "+p.Name)), len(p.Data))
}

func (m *markdown) call(c llm.ToolCall, end CallEnd) {
	m.put("\n### %s", oneLine(c.Name))
	if end.Title != "" {
		m.put(": %s", oneLine(end.Title))
	}
	if s := state(end); s != "" {
		m.put(" (%s)", s)
	}
	m.put("\n\n%s\n", fence("json", string(c.Input)))
	if d := diffOf(end); d != "" {
		m.put("\n%s\n", fence("diff", d))
		return
	}
	for _, p := range end.Result.Parts {
		switch p := p.(type) {
		case llm.Text:
			if strings.HasPrefix(p.Text, "<system-reminder>") {
				continue
			}
			m.put("\n%s\n", fence("text", p.Text))
		case llm.Media:
			m.media(p)
		}
	}
}

func (m *markdown) end() {}

// fence wraps text in backticks, more of them than it has in a row.
func fence(language, text string) string {
	longest, run := 2, 0
	for _, c := range []byte(text) {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	ticks := strings.Repeat("`", longest+1)
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks
}
