package mcp

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
)

// Changes shows what the server changed of the tools that were accepted, as lines that begin with - and +: foreign
// text.
func (v *server) Changes() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.recall()
	before := v.accepted.byName()
	var b strings.Builder
	for _, t := range v.proposed {
		old, ok := before[t.Name]
		if !ok || equal(old, t) {
			continue
		}
		fmt.Fprintf(&b, "%s\n", t.Name)
		lines(&b, "-", old)
		lines(&b, "+", t)
	}
	return b.String()
}

func lines(b *strings.Builder, mark string, t client.Tool) {
	for line := range strings.Lines(strings.TrimSpace(t.Title+"\n"+t.Description) + "\n" +
		string(compact(t.InputSchema)) + "\n") {
		b.WriteString(mark + " " + line)
	}
}

// Changes shows the changed descriptions of a server that wait for the user.
func (s *Set) Changes(name string) string {
	if v := s.find(name); v != nil {
		return v.Changes()
	}
	return ""
}
