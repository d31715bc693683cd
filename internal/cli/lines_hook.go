package cli

import "github.com/lathe-dev/lathe/internal/event"

// hookLine is a run of a hook, with Claude Code's names.
type hookLine struct {
	Type    string  `json:"type"`
	Subtype string  `json:"subtype"` // hook_started or hook_response
	ID      string  `json:"hook_id"`
	Name    string  `json:"hook_name"`
	Event   string  `json:"hook_event"`
	Output  *string `json:"output,omitempty"`
	Stdout  *string `json:"stdout,omitempty"`
	Stderr  *string `json:"stderr,omitempty"`
	Exit    *int    `json:"exit_code,omitempty"`
	Outcome string  `json:"outcome,omitempty"` // success, error or cancelled
	stamped
}

// hook prints the beginning and the end of a hook's run, where that was asked for.
func (p *streamPrinter) hook(b event.Body) error {
	if !p.hooks {
		return nil
	}
	switch b := b.(type) {
	case event.HookStart:
		return p.w.write(&hookLine{Type: "system", Subtype: "hook_started", ID: b.ID, Name: b.Hook, Event: b.Event})
	case event.HookRun:
		l := &hookLine{
			Type: "system", Subtype: "hook_response", ID: b.ID, Name: b.Hook, Event: b.Event, Output: &b.Stdout,
			Stdout: &b.Stdout, Stderr: &b.Stderr,
			Outcome: "success",
		}
		switch {
		case b.Exit < 0:
			l.Outcome = "cancelled"
		case b.Err != "" || b.Exit != 0:
			l.Outcome, l.Exit = "error", &b.Exit
		default:
			l.Exit = &b.Exit
		}
		return p.w.write(l)
	}
	return nil
}
