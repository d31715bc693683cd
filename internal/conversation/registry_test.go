package conversation_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// named is a tool that is only a name.
type named string

func (n named) Spec() llm.ToolSpec {
	return llm.ToolSpec{Name: string(n), Description: "is " + string(n)}
}

func (n named) Prepare(context.Context, llm.ToolCall) (*agent.Plan, error) { return &agent.Plan{}, nil }

// source offers tools and counts how often it is asked.
type source struct {
	version uint64
	asked   int
	retried int
	offers  []customtool.Tool
	notes   []string
}

func (s *source) Version() uint64 { return s.version }

func (s *source) Tools(context.Context, customtool.Seat) []customtool.Tool {
	s.asked++
	return s.offers
}

func (s *source) Notes() []string { defer func() { s.notes = nil }(); return s.notes }

func (s *source) Retry() { s.retried++; s.version++ }

// withTools makes a conversation without a person to answer and without a model.
func withTools(t *testing.T, p *place, change func(*conversation.Options)) *conversation.Session {
	t.Helper()
	return newSession(t, p.open(t, change), conversation.SessionOptions{Detached: true})
}

const userSettings, userSkill = "../.config/lathe/settings.json", "../.claude/skills/s/SKILL.md"

// notices counts those of a subscription, and ends it.
func notices(t *testing.T, sub *event.Subscription) (n int) {
	t.Helper()
	sub.Close()
	for e := range sub.All(t.Context()) {
		if _, ok := e.Body.(event.Notice); ok {
			n++
		}
	}
	return n
}

// origins are the tools of a session with their origins; those that are deferred are marked.
func origins(t *testing.T, r *conversation.Registry) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, e := range r.Entries(t.Context()) {
		out[e.Spec.Name] = e.Origin
		if e.Deferred {
			out[e.Spec.Name] += ", deferred"
		}
	}
	return out
}

func TestEachToolHasAnOriginAndIsSentOrDeferred(t *testing.T) {
	p := newPlace(t, nil)
	p.write(t, userSettings, `{"deferTools": ["glob"]}`)
	r := withTools(t, p, nil).WithSources(&source{offers: []customtool.Tool{
		{Tool: named("always"), Origin: "program a", Always: true},
		{Tool: named("found"), Origin: "plugin p"},
	}})
	got := origins(t, r)
	for name, want := range map[string]string{
		"Read": "built-in", "always": "program a", "found": "plugin p, deferred",
		"Glob": "built-in, deferred",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if !slices.ContainsFunc(r.All(t.Context()), func(t agent.Tool) bool { return t.Spec().Name == "found" }) {
		t.Error("a deferred tool cannot be called")
	}
}

func TestWhatTheSessionHasNoUseForIsInNoList(t *testing.T) {
	offers := []customtool.Tool{{Tool: named("extra"), Always: true}, {Tool: named("other"), Always: true}}
	for name, c := range map[string]struct {
		options func(*conversation.Options)
		skill   bool
		depth   int
		without string
		with    string
	}{
		"a main conversation": {without: "Skill AskUserQuestion", with: "Task Bash extra other"},
		"skills":              {skill: true, with: "Skill"},
		"the deepest agent":   {depth: subagent.MaxDepth, without: "Task", with: "Bash"},
		"a rule": {
			options: func(o *conversation.Options) { o.Disallowed = []string{"Bash", "extra"} },
			without: "Bash extra", with: "Read other",
		},
		"a choice": {
			options: func(o *conversation.Options) { o.Tools = []string{"Read", "other"} },
			without: "Bash Write extra", with: "Read other",
		},
		"an answer with a schema": {
			options: func(o *conversation.Options) { o.OutputSchema = []byte(`{"type":"object"}`) },
			with:    tool.StructuredName,
		},
	} {
		p := newPlace(t, nil)
		if c.skill {
			p.write(t, userSkill, "---\nname: s\ndescription: d\n---\nText.")
		}
		s := withTools(t, p, c.options)
		if c.depth > 0 {
			s = newSession(t, s.Instance(), conversation.SessionOptions{
				Parent: s, Chain: slices.Repeat([]string{"worker"}, c.depth), Detached: true,
			})
		}
		got := origins(t, s.WithSources(&source{offers: offers}))
		for _, n := range strings.Fields(c.without) {
			if _, ok := got[n]; ok {
				t.Errorf("%s: there is %s", name, n)
			}
		}
		for _, n := range strings.Fields(c.with) {
			if _, ok := got[n]; !ok {
				t.Errorf("%s: there is no %s", name, n)
			}
		}
	}
}

func TestTheListOfToolsIsMadeAgainOnlyWhenSomethingChanged(t *testing.T) {
	src := &source{notes: []string{"bad is left out"}}
	p := newPlace(t, nil)
	s := withTools(t, p, nil)
	sub := s.Subscribe(t.Context())
	s.Tools() // the servers are read
	r := s.WithSources(src)
	versions := map[uint64]bool{}
	look := func() {
		t.Helper()
		set, err := r.Set(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		versions[set.Version] = true
	}
	look()
	look()
	if src.asked != 1 {
		t.Errorf("asked %d times", src.asked)
	}
	for i, change := range []func(){
		func() { src.version++ },
		func() {
			if err := s.Grant("Bash(ls)", permission.Allow); err != nil {
				t.Error(err)
			}
		},
		func() {
			p.write(t, userSkill, "---\nname: s\ndescription: d\n---\nText.")
			s.Opening(t.Context()) // lists the skills again
		},
	} {
		before := src.asked
		change()
		look()
		look()
		if src.asked != before+1 {
			t.Errorf("after change %d the source was asked %d times", i, src.asked-before)
		}
	}
	if len(versions) < 3 {
		t.Errorf("the versions are %v", versions)
	}
	if n := notices(t, sub); n != 1 {
		t.Errorf("%d notices", n)
	}
}

func TestToolsThatFailedAreTriedAgain(t *testing.T) {
	src := &source{}
	s := withTools(t, newPlace(t, nil), nil)
	r := s.WithSources(src)
	r.All(t.Context())
	sub := s.Subscribe(t.Context())
	src.notes = []string{"it still fails"}
	if got := r.Retry(t.Context()); src.retried != 1 || len(got) != 1 || got[0] != "it still fails" {
		t.Errorf("retried %d, %q", src.retried, got)
	}
	if n := notices(t, sub); n != 1 {
		t.Errorf("%d notices", n)
	}
}
