package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// mostStatus is how many lines the user's own status line may have.
const mostStatus = 3

// statusLines are the last lines of the screen: the output of the user's statusLine command, and ours.
func (m *model) statusLines(w int) []string {
	var out []string
	if own := strings.TrimRight(m.state.Line, "\n"); own != "" && m.h >= 8 {
		for i, l := range strings.Split(own, "\n") {
			if i == mostStatus {
				break
			}
			out = append(out, cutCells(coloured(l), w))
		}
	}
	return append(out, m.statusLine(w, len(out) > 0))
}

// field is a part of the status line. Those of low rank are left out first when there is no room.
type field struct {
	text  string
	rank  int
	style theme.Style
}

// statusLine is our own line: brief when the user's own says the rest.
func (m *model) statusLine(w int, brief bool) string {
	st, th := m.state, m.look.theme
	var fields []field
	add := func(rank int, s string) {
		if s != "" && (!brief || rank >= 8) {
			fields = append(fields, field{term.EscapeLine(s), rank, th.Dim})
		}
	}
	model := st.Model
	if st.Effort != "" {
		model += " " + st.Effort
	}
	add(6, model)
	if st.Mode != "" {
		fields = append(fields, field{term.EscapeLine(string(st.Mode)), 9, m.modeStyle()})
	}
	add(7, st.Sandbox)
	add(5, where(st.Dir, st.Branch))
	if st.ContextWindow > 0 && st.ContextUsed > 0 {
		add(7, fmt.Sprintf("context %d%%", int(float64(st.ContextUsed)*100/float64(st.ContextWindow)+0.5)))
	} else if st.ContextUsed > 0 {
		add(7, fmt.Sprintf("context %dk", (st.ContextUsed+500)/1000))
	}
	if st.CostUSD > 0 {
		add(4, fmt.Sprintf("$%.2f", st.CostUSD))
	}
	if st.Usage.Input > 0 || st.CacheHit > 0 {
		add(3, fmt.Sprintf("cache %d%%", int(st.CacheHit*100+0.5)))
	}
	if st.Goal != nil {
		add(8, fmt.Sprintf("goal round %d", st.Goal.Rounds+1))
	}
	if st.Background > 0 {
		add(8, plural(st.Background, "task"))
	}
	return fitFields(fields, w, th.Dim)
}

// modeStyle tells the permission modes apart: one that changes nothing, those that ask less, and the one that
// asks nothing.
func (m *model) modeStyle() theme.Style {
	th := m.look.theme
	switch m.state.Mode {
	case permission.Bypass:
		return th.Warn
	case permission.AcceptEdits:
		return th.Good
	case permission.Plan:
		return th.Info
	case permission.DontAsk:
		return th.Accent
	}
	return th.Dim
}

// fitFields joins fields, without those of the lowest ranks where not all fit.
func fitFields(fields []field, w int, between theme.Style) string {
	for {
		var plain, styled []string
		least := 0
		for i, f := range fields {
			plain = append(plain, f.text)
			styled = append(styled, f.style.Render(f.text))
			if f.rank < fields[least].rank {
				least = i
			}
		}
		switch {
		case term.Width(strings.Join(plain, " · ")) <= w:
			return strings.Join(styled, between.Render(" · "))
		case len(fields) == 1:
			return fields[0].style.Render(term.Truncate(plain[0], w, "…"))
		}
		fields = append(fields[:least:least], fields[least+1:]...)
	}
}

// where is the folder's name and its branch.
func where(dir, branch string) string {
	if dir == "" {
		return branch
	}
	name := filepath.Base(dir)
	if branch != "" {
		name += " (" + branch + ")"
	}
	return name
}

// longestStyle is the length of the longest SGR sequence that is passed on.
const longestStyle = 64

// coloured makes foreign text with colours safe: styles are kept, everything else is escaped.
func coloured(s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, 0x1b)
		if i < 0 {
			b.WriteString(term.EscapeLine(s))
			break
		}
		b.WriteString(term.EscapeLine(s[:i]))
		n, _ := term.Sequence(s[i:])
		if _, ok := term.SGR(s[i : i+n]); ok && n <= longestStyle {
			b.WriteString(s[i : i+n])
		} else {
			b.WriteString(term.EscapeLine(s[i : i+1]))
			n = 1
		}
		s = s[i+n:]
	}
	b.WriteString("\x1b[m")
	return b.String()
}
