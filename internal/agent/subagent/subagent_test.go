package subagent_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadFileTakesTheFieldsAndRefusesWhatWouldBeIgnored(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ top, want, wrong string }{
		"all": {
			"name: a\ndescription: b\ntools: [Read, Grep]\ndisallowedTools: Grep\nmodel: inherit\neffort: high\nmaxTurns: " +
				"3\npermissionMode: plan\ncolor: Red\nbackground: true",
			"a|b|[Read Grep]|[Grep]||high|3|true|false|red|true|0", "",
		},
		"comma list":   {"name: a\ndescription: b\ntools: Read, Bash", "a|b|[Read Bash]|[]|||0|false|false||false|0", ""},
		"all tools":    {"name: a\ndescription: b\ntools: '*'", "a|b|[]|[]|||0|false|false||false|0", ""},
		"no tools":     {"name: a\ndescription: b\ntools:", "a|b|[]|[]|||0|false|false||false|0", ""},
		"nobody asked": {"name: a\ndescription: b\npermissionMode: dontAsk", "a|b|[]|[]|||0|false|true||false|0", ""},
		"wider mode": {
			"name: a\ndescription: b\npermissionMode: bypassPermissions",
			"a|b|[]|[]|||0|false|false||false|1", "",
		},
		"unknown colour": {"name: a\ndescription: b\ncolor: mauve\nmemery: user", "a|b|[]|[]|||0|false|false||false|2", ""},
		"bad yaml":       {"name: a\ndescription: Use when: x", "a|Use when: x|[]|[]|||0|false|false||false|1", ""},
		"no name":        {"description: b", "", "no name"},
		"a slash":        {"name: a/b\ndescription: b", "", "no name of an agent"},
		"no description": {"name: a", "", "no description"},
		"patterns": {
			"name: a\ndescription: b\ntools: Bash(git log *), Bash(git add *, b), Read, Edit(*)",
			"a|b|[Bash Read Edit]|[]|||0|false|false||false|0", "",
		},
		"unknown mode": {"name: a\ndescription: b\npermissionMode: plann", "", "there is no mode"},
		"a wrong hook": {"name: a\ndescription: b\nhooks: 3", "", "hooks is an object"},
		"too warm":     {"name: a\ndescription: b\ntemperature: 3", "", "no number from 0 to 2"},
		"whose notes":  {"name: a\ndescription: b\nmemory: everybody", "", "write user, project or local"},
		"a wrong list": {"name: a\ndescription: b\npermissions: {denied: [Bash]}", "", "permissions.denied is not known"},
		"no list":      {"name: a\ndescription: b\npermissions: Bash", "", "permissions is an object"},
		"bad limit":    {"name: a\ndescription: b\nmaxTurns: few", "", "no number of steps"},
	} {
		k, err := subagent.ReadFile(put(t, filepath.Join(dir, name+".md"), "---\n"+c.top+"\n---\nYou judge.\n"))
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		got := fmt.Sprintf("%s|%s|%v|%v|%s|%s|%d|%v|%v|%s|%v|%d", k.Name, k.Description, k.Tools, k.Without, k.Model,
			k.Effort, k.MaxSteps, k.ReadOnly, k.NoAsk, k.Color, k.Background, len(k.Notes))
		if err != nil || got != c.want || k.Prompt != "You judge." {
			t.Errorf("%s: %s %q %v", name, got, k.Notes, err)
		}
	}
	k, err := subagent.ReadFile(put(t, filepath.Join(dir, "none.md"), "---\nname: a\ndescription: b\ntools: []\n---\n"))
	if err != nil || k.Tools == nil {
		t.Errorf("an empty list means no tools: %#v %v", k.Tools, err)
	}
}

func TestTheNearestKindOfANameHolds(t *testing.T) {
	dir := t.TempDir()
	kind := func(name, says string) string { return "---\nname: " + name + "\ndescription: " + says + "\n---\nx\n" }
	put(t, filepath.Join(dir, "user/a.md"), kind("a", "user"))
	put(t, filepath.Join(dir, "user/explore.md"), kind("explore", "mine"))
	put(t, filepath.Join(dir, "project/deep/er/a.md"), kind("a", "project"))
	put(t, filepath.Join(dir, "project/broken.md"), "no block")
	put(t, filepath.Join(dir, "project/refused.md"), kind("refused", "x"))
	put(t, filepath.Join(dir, "org/o.md"), kind("o", "org"))
	put(t, filepath.Join(dir, "outside.md"), kind("outside", "x"))
	if err := os.Symlink(filepath.Join(dir, "outside.md"), filepath.Join(dir, "project/link.md")); err != nil {
		t.Fatal(err)
	}
	given,
		err := subagent.Given(
		[]byte(
			`{"o":{"description":"given","prompt":"p"},"g":{"description":"given","prompt":"p","tools":["Read"],"maxTurns":2}}`), "command line")
	if err != nil {
		t.Fatal(err)
	}
	lib := subagent.NewLibrary(func() []subagent.Folder {
		return []subagent.Folder{
			{Path: filepath.Join(dir, "user"), Source: "user"},
			{Path: filepath.Join(dir, "project"), Source: "project", Bound: filepath.Join(dir, "project")},
			{Path: filepath.Join(dir, "none"), Source: "project"},
			{Path: filepath.Join(dir, "org"), Source: subagent.SourceOrganisation},
		}
	}, func() ([]subagent.Kind, []string) { return given, nil }, func(k *subagent.Kind) error {
		if k.Name == "refused" {
			return errors.New("its rules cannot be read")
		}
		return nil
	})
	c := lib.Catalog()
	for name, want := range map[string]string{"a": "project", "Explore": "mine", "O": "org", "g": "given"} {
		if k, err := c.Get(name); err != nil || k.Description != want {
			t.Errorf("%s: %+v %v", name, k, err)
		}
	}
	if k, _ := c.Get(""); k.Name != subagent.General || !k.Extends {
		t.Errorf("%+v", k)
	}
	if _, err := c.Get("nobody"); err == nil || !strings.Contains(err.Error(),
		"general-purpose, explore, Plan, Bash, a, g, o") {
		t.Error(err)
	}
	notes := strings.Join(c.Notes, "\n")
	if len(c.Notes) != 3 || !strings.Contains(notes, "leads out of the project") || !strings.Contains(notes,
		"it has no name") || !strings.Contains(notes, "refused.md: its rules cannot be read") {
		t.Errorf("%q", c.Notes)
	}
	if got := c.Listing(4000); got != "- explore: mine\n- a: project\n- g: given\n- o: org" {
		t.Errorf("%q", got)
	}
	if lib.Catalog() != c {
		t.Error("it was read again although nothing changed")
	}
	put(t, filepath.Join(dir, "project/new.md"), kind("new", "x"))
	if _, err := lib.Catalog().Get("new"); err != nil {
		t.Error(err)
	}
}

func TestReadFileTakesRulesTemperatureAndNotes(t *testing.T) {
	k, err := subagent.ReadFile(put(t, filepath.Join(t.TempDir(), "a.md"), `---
name: a
description: b
disallowedTools: WebFetch, Bash(rm *)
permissions:
  ask: [Bash]
  allow: Bash(go test *)
  deny:
    - Edit(/docs/**)
temperature: 0.2
memory: project
speed: fast
---
x
`))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%v %v %v %v %v", k.Without, *k.Permissions, *k.Temperature, k.Memory, k.Notes)
	if want := "[WebFetch] {[Bash(go test *)] [Bash] [Edit(/docs/**) Bash(rm *)]} 0.2 project [speed is no field of an " +
		"agent and has no effect]"; got != want {
		t.Error(got)
	}
	for scope, want := range map[subagent.Scope]string{
		"": "", subagent.User: "/c/agent-memory/a",
		subagent.Project: "/r/.claude/agent-memory/a", subagent.Local: "/r/.claude/agent-memory-local/a",
	} {
		k.Memory = scope
		if dir := k.NotesDir("/c", "/r"); filepath.ToSlash(dir) != want {
			t.Error(scope, dir)
		}
	}
}

func TestAnAgentGetsTheBeginningOfItsNotes(t *testing.T) {
	dir := t.TempDir()
	if text, err := subagent.ReadNotes(dir); err != nil || !strings.Contains(text, dir) || !strings.HasSuffix(text,
		"There are none yet.") {
		t.Errorf("%q %v", text, err)
	}
	put(t, filepath.Join(dir, "MEMORY.md"), "first\n"+strings.Repeat("more\n", 198)+"line 200\nline 201\n")
	if text, err := subagent.ReadNotes(dir); err != nil || !strings.Contains(text, "MEMORY.md:\nfirst\n") ||
		!strings.HasSuffix(text, "line 200") {
		t.Errorf("%q %v", text, err)
	}
	put(t, filepath.Join(dir, "MEMORY.md"), strings.Repeat("x", 30_000))
	if text, err := subagent.ReadNotes(dir); err != nil || strings.Count(text, "x") > 25_010 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	secret := put(t, filepath.Join(t.TempDir(), "secret"), "token")
	if err := errors.Join(os.Remove(filepath.Join(dir, "MEMORY.md")),
		os.Symlink(secret, filepath.Join(dir, "MEMORY.md"))); err != nil {
		t.Fatal(err)
	}
	if text, err := subagent.ReadNotes(dir); err == nil || strings.Contains(text, "token") {
		t.Errorf("a link was followed: %q", text)
	}
}

// conversation answers with what a function says.
type conversation struct {
	id       string
	run      func(context.Context) (event.TurnEnd, error)
	messages []llm.Message
	steered  chan string // of the messages that were delivered; nil: none is taken
}

func (c *conversation) Used() (int, float64) { return 2, 0.5 }

func (c *conversation) Steer(m llm.Message) bool {
	if c.steered != nil {
		c.steered <- m.PlainText()
	}
	return c.steered != nil
}

func (c *conversation) ID() string              { return c.id }
func (c *conversation) Messages() []llm.Message { return c.messages }
func (c *conversation) Close() error            { return nil }

func (c *conversation) Invoke(context.Context, []llm.ToolCall) []llm.ToolResult { return nil }

func (c *conversation) Prompt(ctx context.Context, m llm.Message) (event.TurnEnd, error) {
	c.messages = append(c.messages, m, llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: "Half."}}})
	return c.run(ctx)
}

func agents(depth int, slots *subagent.Slots, run func(context.Context) (event.TurnEnd, error)) *subagent.Agents {
	return subagent.New(subagent.Host{
		Catalog: func() *subagent.Catalog { return subagent.Find(nil, nil, nil, nil) }, Depth: depth, Slots: slots,
		NewID: rand.Text,
		Open: func(_ context.Context, _ *subagent.Kind, r subagent.Request) (subagent.Conversation, error) {
			return &conversation{id: r.Resume + "1", run: run}, nil
		},
		KindOf: func(id string) (string, error) {
			if id != "1" {
				return "", errors.New("there is no agent " + id)
			}
			return "Plan", nil
		},
	})
}

func TestAnAgentThatDoesNotFinishReturnsWhatItHasWithTheReason(t *testing.T) {
	for reason, want := range map[event.EndReason]string{
		event.EndCompleted: "", event.EndMaxSteps: "limit of steps", event.EndBudget: "money", event.EndDoomLoop: "same call",
		event.EndRefused: "refused", event.EndInterrupted: "interrupted", event.EndFailed: "overloaded",
	} {
		a := agents(0, subagent.NewSlots(1), func(context.Context) (event.TurnEnd, error) {
			end := event.TurnEnd{Reason: reason}
			if reason == event.EndFailed {
				end.Err = "overloaded"
			}
			return end, nil
		})
		out, err := a.Run(t.Context(), subagent.Request{Prompt: "go"})
		if err != nil || out.Answer != "Half." || !strings.Contains(out.Problem, want) ||
			(want == "") != (out.Problem == "") {
			t.Errorf("%s: %+v %v", reason, out, err)
		}
	}
}

func TestRequestsThatCannotBeCarriedOutStartNothing(t *testing.T) {
	never := func(context.Context) (event.TurnEnd, error) { panic("it was started") }
	for want, c := range map[string]struct {
		depth int
		r     subagent.Request
	}{
		"at most 5 deep":    {subagent.MaxDepth, subagent.Request{Prompt: "x"}},
		"prompt is empty":   {0, subagent.Request{Prompt: " \n"}},
		"no agent \"nope\"": {0, subagent.Request{Prompt: "x", Kind: "nope"}},
		"no agent 2":        {0, subagent.Request{Prompt: "x", Resume: "2"}},
		"cannot go on as":   {0, subagent.Request{Prompt: "x", Resume: "1", Kind: "Bash"}},
	} {
		if _, err := agents(c.depth, subagent.NewSlots(1), never).Run(t.Context(), c.r); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// An agent that waits for others holds no slot, so one slot is enough for any depth; one that is told to end while it
// waits for a slot ends.
func TestAgentsThatWaitForOthersHoldNoSlot(t *testing.T) {
	slots := subagent.NewSlots(1)
	var run func(depth int) func(context.Context) (event.TurnEnd, error)
	run = func(depth int) func(context.Context) (event.TurnEnd, error) {
		return func(ctx context.Context) (event.TurnEnd, error) {
			if depth == subagent.MaxDepth {
				return event.TurnEnd{Reason: event.EndCompleted}, nil
			}
			a := agents(depth, slots, run(depth+1))
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if out, err := a.Run(ctx, subagent.Request{Prompt: "go"}); err != nil || out.Problem != "" {
						t.Errorf("depth %d: %+v %v", depth, out, err)
					}
				})
			}
			wg.Wait()
			return event.TurnEnd{Reason: event.EndCompleted}, nil
		}
	}
	if out, err := agents(0, slots, run(1)).Run(t.Context(), subagent.Request{Prompt: "go"}); err != nil ||
		out.Problem != "" {
		t.Errorf("%+v %v", out, err)
	}
	full := subagent.NewSlots(1)
	_, err := agents(0, full, func(ctx context.Context) (event.TurnEnd, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_, err := agents(0, full, nil).Run(ctx, subagent.Request{Prompt: "waits for a slot"})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		return event.TurnEnd{Reason: event.EndCompleted}, nil
	}).Run(t.Context(), subagent.Request{Prompt: "go"})
	if err != nil {
		t.Error(err)
	}
}

func TestModelNameTakesTheStrongest(t *testing.T) {
	k := &subagent.Kind{Model: "kind"}
	for _, c := range []struct{ all, call, want string }{
		{"", "", "kind"}, {"", "call", "call"}, {"all", "call", "all"}, {"inherit", "call", ""},
	} {
		if got := (subagent.Request{Model: c.call}).ModelName(c.all, k); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestAKindsToolsAreKnownUnderAnySpelling(t *testing.T) {
	k := subagent.Kind{Name: "a", Tools: []string{"shell", "Read"}, Without: []string{"writeFile"}, ReadOnly: true}
	got := k.Permission(func(name string) string {
		return map[string]string{"shell": "Bash", "Read": "Read", "writeFile": "Write"}[name]
	})
	if fmt.Sprint(got.Tools, got.Without, got.ReadOnly) != "[TaskOutput TaskStop Bash Read] [Write] true" {
		t.Errorf("%+v", got)
	}
	none := subagent.Kind{Name: "a", Tools: []string{}}
	if got := none.Permission(nil); got.Tools == nil {
		t.Error("a kind without tools has all of them")
	}
}

func TestAProjectsAgentsNeitherReplaceBuiltInOnesNorKeepTheUsersNotes(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "Explore.md"), "---\nname: explore\ndescription: x\n---\nSay yes.\n")
	put(t, filepath.Join(dir, "notes.md"), "---\nname: notes\ndescription: x\nmemory: user\n---\nx\n")
	c := subagent.Find([]subagent.Folder{{Path: dir, Source: "project"}}, nil, nil, nil)
	if k, err := c.Get("Explore"); err != nil || k.Source != "built-in" {
		t.Errorf("%+v, %v", k, err)
	}
	if k, err := c.Get("notes"); err != nil || k.Memory != subagent.Project {
		t.Errorf("%+v, %v", k, err)
	}
	if len(c.Notes) != 2 {
		t.Errorf("%q", c.Notes)
	}
	if k, err := subagent.Find([]subagent.Folder{{Path: dir, Source: "user"}}, nil, nil, nil).Get(
		"Explore"); err != nil || k.Source != "user" {
		t.Errorf("%+v, %v", k, err)
	}
}
