package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/term"
)

// statusLine is the last line of the screen: what matters most stands first, and what does not fit is left out.
func (m *model) statusLine(w int) string {
	th := m.look.theme
	var fields []string
	add := func(s string) {
		if s != "" {
			fields = append(fields, s)
		}
	}
	st := m.state
	add(term.EscapeLine(st.Model))
	add(term.EscapeLine(string(st.Mode)))
	place := filepath.Base(st.Dir)
	if st.Dir == "" {
		place = ""
	} else if st.Branch != "" {
		place += " (" + st.Branch + ")"
	}
	add(term.EscapeLine(place))
	if st.ContextWindow > 0 && st.ContextUsed > 0 {
		add(fmt.Sprintf("context %d%%", st.ContextUsed*100/st.ContextWindow))
	}
	if st.CostUSD > 0 {
		add(fmt.Sprintf("$%.2f", st.CostUSD))
	}
	if st.CacheHit > 0 {
		add(fmt.Sprintf("cache %d%%", int(st.CacheHit*100)))
	}
	if st.Background > 0 {
		add(plural(st.Background, "task"))
	}
	line := strings.Join(fields, " · ")
	return th.Dim.Render(term.Truncate(line, w, "…"))
}
