package approval

import (
	"github.com/lathe-dev/lathe/internal/agent"
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
