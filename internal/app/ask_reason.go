package app

import (
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/files"
	"github.com/lathe-dev/lathe/internal/permission"
)

// reasonType is why a call asks, as event.Question has it.
func reasonType(d permission.Decision, a agent.Approval, outside string) string {
	switch {
	case d.Confirm || d.Layer == permission.LayerGuards:
		return "safetyCheck"
	case a.Hooks.Effect == permission.Ask:
		return "hook"
	case d.Rule != "":
		return "rule"
	case outside != "":
		return "workingDir"
	}
	return "mode"
}

// outside is the folder of the first file that a call reads or writes and that is in none of the session's folders;
// "" when there is none.
func (s *Session) outside(r permission.Request) string {
	for _, a := range r.Accesses {
		if a.Kind != permission.Read && a.Kind != permission.Write || !filepath.IsAbs(a.Target) {
			continue
		}
		in := false
		for _, root := range s.env.Roots.List() {
			in = in || files.Within(root.Path, a.Target)
		}
		if !in {
			return filepath.Dir(a.Target)
		}
	}
	return ""
}
