package approval_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/conversation/approval"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/tool"
)

// folder is a workspace of one folder; what it has no method for is not called.
type folder struct {
	approval.Workspace
	dir string
}

func (f folder) Dir() string { return f.dir }

func (folder) Place() *permission.Place { return nil }

func (folder) Outside(permission.Request) string { return "" }

// approver decides by rules that allow the given calls, in a folder of its own. Its events are on the bus.
func approver(t *testing.T, mode permission.Mode, allowed ...string) (*approval.Approver, *event.Bus) {
	t.Helper()
	tools := tool.Catalogue()
	rules, errs := permission.ParseRules(tools, allowed, permission.Allow, permission.Source{Name: "test"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	env, err := tool.NewEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus()
	t.Cleanup(bus.Close)
	modes := approval.NewModes(mode, func(permission.Mode) error { return nil }, func(permission.Mode) {})
	policy := permission.NewPolicy(tools, t.TempDir(), nil, rules)
	j := journal.New(nil, bus, nil)
	return approval.New(approval.Config{
		Authority: &approval.Authority{Rules: approval.NewRules(policy, tools, env.Dir.Get(), j), Modes: modes},
		Journal:   j, Workspace: folder{dir: env.Dir.Get()}, Interactive: true,
		Keep: func(permission.Rule) error { return nil },
	}), bus
}

// A hook that asks about a call which a rule allows is heard in every mode; in the one that asks nothing, that
// is a refusal.
func TestAHooksQuestionIsARefusalInTheModeThatAsksNothing(t *testing.T) {
	p, bus := approver(t, permission.DontAsk, "Bash")
	sub := bus.Subscribe(t.Context(), event.Options{})
	for ruling, want := range map[permission.Effect]permission.Effect{
		"":             permission.Allow,
		permission.Ask: permission.Deny,
	} {
		command := permission.Access{Kind: permission.Exec, Target: "make"}
		d, err := p.Authorize(t.Context(), agent.Approval{
			Request: permission.Request{CallID: "1", Tool: "Bash", Dir: t.TempDir(), Accesses: []permission.Access{command}},
			Hooks:   agent.Ruling{Effect: ruling, Hooks: []string{"h"}},
		})
		if err != nil || d.Effect != want {
			t.Errorf("%q: %+v %v", ruling, d, err)
		}
	}
	sub.Close()
	for e := range sub.All(t.Context()) {
		t.Errorf("published: %+v", e)
	}
}
