package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/schedule"
	"github.com/lathe-dev/lathe/internal/tool"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

// tree is every file below a folder with its content and mode.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		out[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			out[path] += " " + info.ModTime().String() + " " + string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// openFiles counts this process's descriptors, or returns -1 where that cannot be told.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list)
}

// sample is a call that works.
type sample struct {
	tool  string
	input in
}

func samples(b *bench) []sample {
	b.put("a.txt", "one\ntwo\n")
	b.put("dir/b.go", "package b\n")
	b.put("n.ipynb", notebookWith(map[string]any{"cell_type": "code", "id": "one", "source": "x", "outputs": []any{}}))
	b.read("a.txt")
	b.read("n.ipynb")
	deferSample(b)
	b.env.LoadSkill = func(_ context.Context, name, args string) ([]llm.Part, error) {
		return []llm.Part{llm.Text{Text: name + " with " + args, Origin: llm.OriginSkill}}, nil
	}
	b.env.Peers = onePeer{}
	b.env.Push = func(context.Context, string) error { return nil }
	desktop(b.t)
	searching(b.t, b.env, `{"results":[{"url":"https://go.dev/a","title":"Maps"}]}`)
	b.env.Invoke = func(_ context.Context, calls []llm.ToolCall) []llm.ToolResult {
		out := make([]llm.ToolResult, len(calls))
		for i, c := range calls {
			out[i] = llm.TextResult(c, "done", false)
		}
		return out
	}
	b.env.Notes = memory.Open(b.t.TempDir())
	b.env.Agents = sampleAgents()
	b.env.Plan = consult.NewPlan(consult.Session{Modes: &planModes{}})
	return []sample{
		{"Memory", in{"command": "save", "name": "a", "description": "when", "text": "one"}},
		{"Memory", in{"command": "read", "name": "a"}},
		{"Memory", in{"command": "search", "text": "one"}},
		{"Memory", in{"command": "forget", "name": "a"}},
		{"Read", in{"file_path": "a.txt"}},
		{"Read", in{"file_path": "dir"}},
		{"Write", in{"file_path": "new/deep/c.txt", "content": "x\n"}},
		{"Write", in{"file_path": "a.txt", "content": "three\ntwo\n"}},
		{"Edit", in{"file_path": "a.txt", "old_string": "two", "new_string": "2"}},
		{"Edit", in{"file_path": "n.txt", "old_string": "", "new_string": "2"}},
		{"ApplyPatch", in{"patch": "*** Begin Patch\n*** Update File: dir/b.go\n@@\n-package b\n+package c\n*** Add File: " +
			"p/n.txt\n+n\n*** End Patch"}},
		{"MultiEdit", in{"file_path": "m.txt", "edits": []any{
			map[string]any{"old_string": "", "new_string": "x"},
			map[string]any{"old_string": "x", "new_string": "y"},
		}}},
		{"Batch", in{"calls": []any{map[string]any{"tool": "Read", "input": map[string]any{"file_path": "a.txt"}}}}},
		{"Open", in{"target": "http://contract.test/"}},
		{"LSP", in{"operation": "definition", "symbol": "one"}},
		{"NotebookEdit", in{"notebook_path": "n.ipynb", "cell_id": "one", "new_source": "y"}},
		{"WebFetch", in{"url": pages(b.t) + "/page"}},
		{"WebSearch", in{"query": "go maps"}},
		{"Glob", in{"pattern": "**/*.go"}},
		{"Grep", in{"pattern": "package", "output_mode": "content"}},
		{"Grep", in{"pattern": "one", "path": "a.txt"}},
		{"TodoWrite", in{"todos": []any{map[string]any{"content": "x", "status": "pending"}}}},
		{"AskUserQuestion", in{"questions": []any{map[string]any{
			"question": "Which?",
			"options":  []any{map[string]any{"label": "a"}, map[string]any{"label": "b"}},
		}}, "answers": in{"Which?": "a"}}},
		{"EnterPlanMode", in{}},
		{"ExitPlanMode", in{"plan": "# Do it"}},
		{"ToolSearch", in{"query": "notebook"}},
		{"ListAgents", in{}},
		{"SendMessage", in{"to": "@painter", "message": "which colour?"}},
		{"Workflow", in{"script": "result = \"done\""}},
		{"SetGoal", in{"condition": "all tests pass"}},
		{"PushNotification", in{"message": "the build is green"}},
		{"Skill", in{"skill": "review", "args": "a.txt"}},
		{"Task", in{"description": "look", "prompt": "look into a.txt", "subagent_type": "Explore"}},
		{"Bash", in{"command": "cat a.txt | wc -l"}},
		{"Bash", in{"command": "touch a.txt > /dev/null"}},
		{"TaskOutput", in{"task_id": b.background()}},
		{"TaskStop", in{"task_id": b.background()}},
		{"CronCreate", in{"cron": "30 9 * * 1-5", "prompt": "look", "recurring": false}},
		{"CronList", in{}},
		{"CronDelete", in{"id": b.scheduled()}},
		{"ScheduleWakeup", in{"delay": 600, "reason": "the build takes that long", "prompt": "look"}},
		{"Monitor", in{"path": "a.txt", "description": "a"}},
	}
}

// scheduled makes a schedule and returns its id.
func (b *bench) scheduled() string {
	b.t.Helper()
	b.env.Schedules = schedule.At(filepath.Join(b.t.TempDir(), schedule.FileName))
	b.env.Goal = &aGoal{}
	x, err := b.env.Schedules.Add(schedule.Schedule{Cron: "@daily", Prompt: "look"})
	if err != nil {
		b.t.Fatal(err)
	}
	return x.ID
}

// background starts a command that runs until the test ends, and returns its id.
// desktop puts programs in the place of those that open files for people, which do nothing.
func desktop(t testing.TB) {
	bin := t.TempDir()
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// sampleAgents starts agents that answer at once.
func sampleAgents() *subagent.Agents {
	return subagent.New(subagent.Host{
		Catalog: func() *subagent.Catalog { return subagent.Find(nil, nil, nil, nil) }, Slots: subagent.NewSlots(1),
		NewID: func() string { return "agent-1" },
		Open: func(context.Context, *subagent.Kind, subagent.Request) (subagent.Conversation, error) {
			return &sampleAgent{}, nil
		},
		KindOf: func(string) (string, error) { return "", errors.New("there is none") },
	})
}

type sampleAgent struct{ messages []llm.Message }

func (a *sampleAgent) ID() string                                            { return "agent-1" }
func (a *sampleAgent) Messages() []llm.Message                               { return a.messages }
func (a *sampleAgent) Close() error                                          { return nil }
func (*sampleAgent) Invoke(context.Context, []llm.ToolCall) []llm.ToolResult { return nil }
func (a *sampleAgent) Steer(llm.Message) bool                                { return false }
func (a *sampleAgent) Used() (int, float64)                                  { return 1, 0 }

func (a *sampleAgent) Prompt(_ context.Context, m llm.Message) (event.TurnEnd, error) {
	a.messages = append(a.messages, m, llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: "Found."}}})
	return event.TurnEnd{Reason: event.EndCompleted, Steps: 1}, nil
}

func (b *bench) background() string {
	b.t.Helper()
	r, err := b.call("Bash", in{"command": "sleep 600", "run_in_background": true})
	if err != nil {
		b.t.Skipf("no shell: %v", err)
	}
	b.t.Cleanup(func() { _ = b.env.Background.Close() })
	id, _ := r.Meta["backgroundTaskId"].(string)
	return id
}

func TestEveryToolHasASample(t *testing.T) {
	b := newBench(t)
	have := map[string]bool{}
	for _, s := range samples(b) {
		have[s.tool] = true
	}
	for _, name := range tool.Names() {
		if !have[name] {
			t.Errorf("%s has no call in samples, so nothing holds it to the contract", name)
		}
	}
}

func TestSchemasTakeWhatToolsTakeAndNothingElse(t *testing.T) {
	b := newBench(t)
	resolved := map[string]*jsonschema.Resolved{}
	for _, tl := range tool.All(b.env) {
		r, err := agent.InputSchema(tl.Spec())
		if err != nil {
			t.Fatalf("%s: %v", tl.Spec().Name, err)
		}
		resolved[tl.Spec().Name] = r
	}
	validate := func(s sample) error {
		raw, err := json.Marshal(s.input)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		return resolved[s.tool].Validate(v)
	}
	full := in{
		"pattern": "x", "path": ".", "glob": "*", "type": "go", "output_mode": "count", "-A": 1, "-B": 1, "-C": 1,
		"-n": true, "-i": true, "-o": true, "multiline": true, "head_limit": 0, "offset": 0,
	}
	for _, s := range append(samples(b), sample{"Grep", full},
		sample{"Read", in{"file_path": "a", "offset": 1, "limit": 1}}) {
		if err := validate(s); err != nil {
			t.Errorf("%s %v: %v", s.tool, s.input, err)
		}
		s.input["surprise"] = 1
		if validate(s) == nil {
			t.Errorf("%s takes an unknown parameter", s.tool)
		}
	}
}

func TestPreparingHasNoEffectAndLetsGo(t *testing.T) {
	b := newBench(t)
	all := samples(b)
	if _, err := b.prepare("Read", in{"file_path": "a.txt"}); err != nil { // the root's own handle opens once
		t.Fatal(err)
	}
	runtime.GC()
	before, fds, tools := tree(t, b.dir), openFiles(), tool.Catalogue()
	for range 3 {
		for _, s := range all {
			plan, err := b.prepare(s.tool, s.input)
			if err != nil {
				t.Fatalf("%s %v: %v", s.tool, s.input, err)
			}
			if plan.Accesses == nil || plan.Run == nil || plan.Title == "" {
				t.Errorf("%s: %+v", s.tool, plan)
			}
			for _, a := range plan.Accesses {
				if a.Kind != permission.Tool && a.Kind != permission.Exec && a.Kind != permission.Net &&
					(!filepath.IsAbs(a.Target) || filepath.Clean(a.Target) != a.Target) {
					t.Errorf("%s: access to %q", s.tool, a.Target)
				}
			}
			declared, _ := tools.Lookup(s.tool)
			if plan.Parallel && plan.Writes() || declared.Class != "" && plan.Writes() == declared.Class.ReadOnly() {
				t.Errorf("%s is declared %q: parallel %v, writes %v", s.tool, declared.Class, plan.Parallel, plan.Writes())
			}
			raw, err := json.Marshal(s.input)
			if err != nil {
				t.Fatal(err)
			}
			said, err := tools.Accesses(s.tool, raw, b.env.Place())
			if d := cmp.Diff(said, plan.Accesses); d != "" || err != nil {
				t.Errorf("%s %v: declared and prepared accesses differ: %v\n%s", s.tool, s.input, err, d)
			}
			if plan.Close != nil {
				plan.Close()
			}
		}
	}
	if d := cmp.Diff(before, tree(t, b.dir)); d != "" {
		t.Errorf("Prepare changed files:\n%s", d)
	}
	if now := openFiles(); now > fds {
		t.Errorf("%d files open, %d before", now, fds)
	}
	if len(b.env.Todos.Get()) != 0 {
		t.Error("Prepare changed the task list")
	}
}

func TestEveryResultIsForModelPeopleAndMachines(t *testing.T) {
	b := newBench(t)
	for _, s := range samples(b) {
		b.read("a.txt")
		approveNext(b)
		r, err := b.call(s.tool, s.input)
		if err != nil {
			t.Errorf("%s %v: %v", s.tool, s.input, err)
			continue
		}
		if text(r) == "" || r.View == nil || r.Title == "" || r.Meta == nil {
			t.Errorf("%s: %+v", s.tool, r)
		}
		if _, err := json.Marshal(r.Meta); err != nil {
			t.Errorf("%s: %v", s.tool, err)
		}
	}
}

// planModes is the mode of a session that enters and leaves plan mode.
type planModes struct{ mode permission.Mode }

func (m *planModes) Mode() permission.Mode        { return m.mode }
func (m *planModes) PlannedFrom() permission.Mode { return permission.Default }
func (m *planModes) LeavePlan(to permission.Mode) { m.mode = to }

func (m *planModes) Set(to permission.Mode) error {
	m.mode = to
	return nil
}

// approveNext is the user's yes to the next call.
func approveNext(b *bench) {
	a := agent.Approval{
		Request: permission.Request{CallID: "call_" + strconv.Itoa(b.calls+1)},
		Call:    llm.ToolCall{Input: json.RawMessage(`{"plan":"x"}`)},
	}
	b.env.Plan.Approving().Decide(a, event.Answer{Choice: event.ChoiceEdits})
}

// TestNoInputMakesAToolPanic gives tools values of every kind, also those that a schema would keep out.
func TestNoInputMakesAToolPanic(t *testing.T) {
	b := newBench(t)
	all := samples(b)
	tools := tool.Catalogue()
	values := []any{
		nil, true, -1, 0, 1 << 40, 1.5, "", "a.txt", "dir", "*", "[", "{a,b}", "\x00", "../..", "\xff",
		[]any{},
		[]any{1},
		map[string]any{},
		"content", "(((", ".*", "count",
	}
	keys := []string{
		"file_path", "offset", "limit", "old_string", "new_string", "replace_all", "pattern", "path", "glob",
		"type", "output_mode", "-A", "-C", "head_limit", "multiline", "-o", "todos", "content",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		s := all[r.IntN(len(all))]
		if d, _ := tools.Lookup(s.tool); !d.Class.ReadOnly() || d.With != nil {
			continue // they would write where chance leads
		}
		input := in{}
		for k, v := range s.input {
			input[k] = v
		}
		for range 1 + r.IntN(3) {
			input[keys[r.IntN(len(keys))]] = values[r.IntN(len(values))]
		}
		if p, ok := input["path"].(string); ok && p == "../.." {
			continue // large
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("call %d: %s %v: %v", i, s.tool, input, p)
				}
			}()
			_, _ = b.call(s.tool, input)
		}()
	}
}

func TestToolsObeyACancelledContext(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "x\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range []sample{{"Glob", in{"pattern": "**/*"}}, {"Grep", in{"pattern": "x"}}} {
		plan, err := b.prepare(s.tool, s.input)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", s.tool, err)
		}
	}
}

func TestReadingToolsRunBesideEachOther(t *testing.T) {
	b := newBench(t)
	samples(b)
	tools := map[string]agent.Tool{}
	for _, tl := range tool.All(b.env) {
		tools[tl.Spec().Name] = tl
	}
	var wait sync.WaitGroup
	for range 8 {
		for _, c := range []llm.ToolCall{
			{ID: "1", Name: "Read", Input: json.RawMessage(`{"file_path":"a.txt"}`)},
			{ID: "2", Name: "Glob", Input: json.RawMessage(`{"pattern":"**/*"}`)},
			{ID: "3", Name: "Grep", Input: json.RawMessage(`{"pattern":"o"}`)},
		} {
			wait.Go(func() {
				plan, err := tools[c.Name].Prepare(context.Background(), c)
				if err != nil {
					t.Error(err)
					return
				}
				if plan.Close != nil {
					defer plan.Close()
				}
				if _, err := plan.Run(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
}

// onePeer is a session that takes every message.
type onePeer struct{}

func (onePeer) List(context.Context) ([]tool.Peer, error) {
	return []tool.Peer{{ID: "1a2b3c4d", Name: "Painter", State: "working", Dir: "/w", Activity: "mixing"}}, nil
}

func (onePeer) Send(context.Context, string, string) (string, error) {
	return "It has the message.", nil
}
func (onePeer) Letters() []string { return nil }

// aGoal keeps what is set.
type aGoal struct{ now *event.Goal }

func (g *aGoal) Set(now event.Goal) error {
	now.State = event.GoalActive
	g.now = &now
	return nil
}

func (g *aGoal) State() (event.Goal, bool) {
	if g.now == nil {
		return event.Goal{}, false
	}
	return *g.now, true
}

func (g *aGoal) Clear(string) (bool, error) { return g.now != nil, nil }
