package acp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
)

// modes that a client may choose, in the order of how much runs unasked.
var modes = []mode{
	{"plan", "Plan", "Look and plan; change nothing"},
	{"default", "Ask", "Ask before changes and commands"},
	{"acceptEdits", "Accept edits", "Change files in the folders of the session without a question"},
	{"auto", "Auto", "The small model answers a question first"},
	{"dontAsk", "Don't ask", "Refuse what would be asked"},
	{"bypassPermissions", "Bypass permissions", "Ask nothing that no rule asks"},
}

func (s *openSession) modes() modeState {
	return modeState{Current: string(s.state().Mode), Available: modes}
}

// options are what the client may choose, with the values of now.
func (s *openSession) options(ctx context.Context) []configOption {
	now := s.state()
	mode := configOption{
		Type: "select", ID: "mode", Name: "Permissions", Category: "mode", Current: string(now.Mode),
	}
	for _, m := range modes {
		mode.Options = append(mode.Options, optionValue{m.ID, m.Name, m.Description})
	}
	return []configOption{
		mode,
		s.choice(ctx, "model", "Model", "model", now.Model),
		s.choice(ctx, "effort", "Effort", "thought_level", cmp.Or(now.Effort, "default")),
		{
			Type: "select", ID: sandboxOption, Name: "Sandbox", Category: "_sandbox", Current: s.sandbox(), Options: sandboxes,
		},
	}
}

// sandboxOption is chosen when a process starts.
const sandboxOption = "sandbox"

const sandboxFlag = "--sandbox="

var sandboxes = []optionValue{
	{"settings", "As in the settings", "What confines commands is said by the settings"},
	{"workspace", "Workspace", "Commands write the folders of the session"},
	{"read-only", "Read only", "Commands write nothing"},
	{"off", "Off", "Nothing confines commands"},
}

func (s *openSession) sandbox() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.job.Args {
		if mode, ok := strings.CutPrefix(a, sandboxFlag); ok {
			return mode
		}
	}
	return "settings"
}

// setSandbox starts the process of the session afresh, since what confines commands is chosen at its start.
func (s *openSession) setSandbox(ctx context.Context, mode string) error {
	s.mu.Lock()
	j, fresh, busy := s.job, s.fresh, len(s.prompts) > 0
	s.mu.Unlock()
	if now, err := s.port.Read(ctx, port.ReadRequest{What: "status"}); err != nil {
		return err
	} else if busy || now.State == nil || now.State.Doing != event.Idle {
		return fault(jsonrpc.InvalidRequest, "the sandbox can be changed when no turn runs")
	}
	args := slices.DeleteFunc(slices.Clone(j.Args), func(a string) bool { return strings.HasPrefix(a, sandboxFlag) })
	if mode != "settings" {
		args = append(args, sandboxFlag+mode)
	}
	s.mu.Lock()
	s.meant, s.back = true, make(chan struct{})
	s.mu.Unlock()
	var err error
	if j.Args = args; fresh { // nothing is on disk to go on with
		s.a.forget(ctx, j.ID)
		if _, err = s.a.keepServers(j.ID, s.place.Servers); err == nil {
			_, err = s.a.Door.Start(ctx, supervisor.Start{ID: j.ID, Kind: "background", CWD: s.place.CWD, Args: args})
		}
	} else {
		err = s.a.respawn(ctx, j.ID, args)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.job = j
	s.mu.Unlock()
	return s.awake(ctx)
}

// choice is an option whose values are the completions of a slash command.
func (s *openSession) choice(ctx context.Context, id, name, category, current string) configOption {
	o := configOption{Type: "select", ID: id, Name: name, Category: category, Current: current}
	found, _ := s.port.Complete(ctx, event.Query{Kind: event.QueryArgument, Name: id, Limit: mostValues})
	for _, c := range found {
		o.Options = append(o.Options, optionValue{c.Text, c.Text, c.Help})
	}
	if !slices.ContainsFunc(o.Options, func(v optionValue) bool { return v.Value == current }) {
		o.Options = append(o.Options, optionValue{Value: current, Name: current})
	}
	return o
}

// mostValues is how many values one option has.
const mostValues = 500
