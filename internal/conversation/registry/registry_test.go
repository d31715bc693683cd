package registry_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation/registry"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/llm"
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
	offers  []registry.Offer
	notes   []string
}

func (s *source) of() registry.Source {
	return registry.Source{
		Version: func() uint64 { return s.version },
		Tools:   func(context.Context) []registry.Offer { s.asked++; return s.offers },
		Notes:   func() []string { defer func() { s.notes = nil }(); return s.notes },
		Retry:   func() { s.retried++; s.version++ },
	}
}

// place is the seat of a main conversation in which nobody answers.
func place(t *testing.T, sources ...*source) (seat registry.Seat, notices *[]string) {
	t.Helper()
	env, err := tool.NewEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	set := mcp.New(mcp.Options{Places: func() entry.Places { return entry.Places{Strict: true} }})
	t.Cleanup(func() { _ = set.Close() })
	if err := set.Load(); err != nil { // it changes the version
		t.Fatal(err)
	}
	notices = &[]string{}
	seat = registry.Seat{
		Env: env, Catalogue: tool.Catalogue(), Removed: func(string) bool { return false },
		Rules: func() uint64 { return 0 }, Skills: func() bool { return false },
		Output: &tool.Structured{}, Window: func() int { return 200_000 }, Defer: func() []string { return nil },
		Servers: set.Join(mcp.Seat{}), ServerSet: set, Notice: func(text string) { *notices = append(*notices, text) },
	}
	for _, s := range sources {
		seat.Sources = append(seat.Sources, s.of())
	}
	return seat, notices
}

// origins are the tools of a session with their origins; those that are deferred are marked.
func origins(t *testing.T, r *registry.Registry) map[string]string {
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
	s := &source{offers: []registry.Offer{
		{Tool: named("always"), Origin: "program a", Sent: true},
		{Tool: named("found"), Origin: "plugin p"},
	}}
	seat, _ := place(t, s)
	seat.Defer = func() []string { return []string{"glob"} }
	got := origins(t, registry.New(seat))
	for name, want := range map[string]string{
		"Read": "built-in", "always": "program a", "found": "plugin p, deferred",
		"Glob": "built-in, deferred",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	all := registry.New(seat).All(t.Context())
	if !slices.ContainsFunc(all, func(t agent.Tool) bool { return t.Spec().Name == "found" }) {
		t.Error("a deferred tool cannot be called")
	}
}

func TestWhatTheSessionHasNoUseForIsInNoList(t *testing.T) {
	s := &source{offers: []registry.Offer{{Tool: named("extra"), Sent: true}, {Tool: named("other"), Sent: true}}}
	for name, c := range map[string]struct {
		change  func(*registry.Seat)
		without string
		with    string
	}{
		"a main conversation": {func(*registry.Seat) {}, "Skill AskUserQuestion", "Task Bash extra other"},
		"skills":              {func(s *registry.Seat) { s.Skills = func() bool { return true } }, "", "Skill"},
		"the deepest agent":   {func(s *registry.Seat) { s.Depth = subagent.MaxDepth }, "Task", "Bash"},
		"a rule or a kind": {func(s *registry.Seat) {
			s.Removed = func(n string) bool { return n == "Bash" || n == "extra" }
		}, "Bash extra", "Read other"},
		"a choice": {
			func(s *registry.Seat) { s.Only = []string{"Read", "other"} }, "Bash Write extra",
			"Read other",
		},
		"an answer with a schema": {
			func(s *registry.Seat) { s.Schema = []byte(`{"type":"object"}`) }, "",
			tool.StructuredName,
		},
	} {
		seat, _ := place(t, s)
		c.change(&seat)
		got := origins(t, registry.New(seat))
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

func TestAnAnswerIsMadeAnewOnlyWhenSomethingChanged(t *testing.T) {
	s := &source{notes: []string{"bad is left out"}}
	seat, notices := place(t, s)
	rules, skills := uint64(0), false
	seat.Rules, seat.Skills = func() uint64 { return rules }, func() bool { return skills }
	r := registry.New(seat)
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
	if s.asked != 1 || len(*notices) != 1 {
		t.Errorf("asked %d times, notices %q", s.asked, *notices)
	}
	for _, change := range []func(){func() { s.version++ }, func() { rules++ }, func() { skills = true }} {
		before := s.asked
		change()
		look()
		look()
		if s.asked != before+1 {
			t.Errorf("after a change the source was asked %d times", s.asked-before)
		}
	}
	if len(versions) < 3 {
		t.Errorf("the versions are %v", versions)
	}
}

func TestToolsThatFailedAreTriedAgain(t *testing.T) {
	s := &source{}
	seat, notices := place(t, s)
	r := registry.New(seat)
	r.All(t.Context())
	s.notes = []string{"it still fails"}
	if got := r.Retry(t.Context()); s.retried != 1 || len(got) != 1 || got[0] != "it still fails" || len(*notices) != 1 {
		t.Errorf("retried %d, %q, notices %q", s.retried, got, *notices)
	}
}
