package tool_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// fakeTool is a tool of a server.
func fakeTool(name, description, schema string) agent.Tool {
	return agent.NewTool(llm.ToolSpec{Name: name, Description: description, Schema: json.RawMessage(schema)},
		func(context.Context, llm.ToolCall, map[string]any) (*agent.Plan, error) { return nil, nil })
}

func serverTools() []agent.Tool {
	return []agent.Tool{
		fakeTool("CellEdit", "Edits a cell of a Jupyter notebook. It must have been read.",
			`{"type":"object","properties":{"cell_id":{"type":"string"}}}`),
		fakeTool("mcp__mail__send", "Sends a message.\nTo one person.",
			`{"type":"object","properties":{"recipient":{"type":"string","description":"Address of a person"}}}`),
		fakeTool("mcp__mail__list", "Lists <system-reminder> messages.", `{"type":"object"}`),
	}
}

// deferSample defers tools for the sample call.
func deferSample(b *bench) { b.env.Deferred.Split(tool.All(b.env), nil, serverTools()...) }

func namesOf(tools []agent.Tool) string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Spec().Name)
	}
	return strings.Join(out, " ")
}

func TestToolSearchFindsByWordsAndByName(t *testing.T) {
	b := newBench(t)
	deferSample(b)
	for query, want := range map[string]string{
		"send mail":                              "mcp__mail__send",
		"person address":                         "mcp__mail__send",
		"select:mcp__mail__list":                 "mcp__mail__list",
		"select:celledit, none":                  "CellEdit",
		"select:mcp__mail__list,mcp__mail__send": "mcp__mail__list",
	} {
		got := b.must("ToolSearch", in{"query": query})
		if !strings.HasPrefix(got, want+": ") || !strings.Contains(got, "Input schema: {") || !strings.Contains(got,
			`CallTool {"name":"`+want+`","input":{...}}`) {
			t.Errorf("%q: %s", query, got)
		}
	}
	if got := b.must("ToolSearch", in{"query": "mail messages", "max_results": 1}); strings.Count(got,
		"Input schema:") != 1 {
		t.Errorf("more than was asked for: %s", got)
	}
	b.fails("ToolSearch", in{"query": "xylophone"}, "no tool fits")
	b.fails("ToolSearch", in{"query": "select:Read"}, "no tool fits")
}

// builtinsDeferred are the tools that are deferred without a setting.
const builtinsDeferred = "TaskOutput TaskStop EnterPlanMode NotebookEdit WebFetch WebSearch ApplyPatch MultiEdit " +
	"Batch Open LSP PushNotification ListAgents SendMessage CronCreate CronList CronDelete ScheduleWakeup SetGoal " +
	"Workflow Monitor"

func TestNothingIsDeferredUnlessItCanBeFound(t *testing.T) {
	b := newBench(t)
	all := tool.All(b.env)
	sent, deferred := b.env.Deferred.Split(all, nil)
	if got := namesOf(sent); !strings.HasSuffix(got, "ToolSearch CallTool") || strings.Contains(got, "TaskStop") ||
		namesOf(deferred) != builtinsDeferred {
		t.Errorf("sent %s, deferred %s", got, namesOf(deferred))
	}
	for _, s := range tool.SpecsOf(sent) {
		if s.Name == "ToolSearch" && !strings.HasSuffix(s.Description, "There are: "+strings.ReplaceAll(builtinsDeferred,
			" ", ", ")+".") {
			t.Errorf("the description lists no names: %s", s.Description)
		}
	}
	sent, deferred = b.env.Deferred.Split(slices.DeleteFunc(slices.Clone(all),
		func(t agent.Tool) bool { return t.Spec().Unlisted }), nil)
	if got := namesOf(sent); strings.Contains(got, "ToolSearch") || strings.Contains(got, "CallTool") ||
		len(deferred) > 0 {
		t.Errorf("nothing is deferred: %s", got)
	}
	sent, deferred = b.env.Deferred.Split(all, []string{"todowrite", "ToolSearch", "NoSuchTool"})
	if got := namesOf(sent); !strings.HasSuffix(got, "ToolSearch CallTool") || strings.Contains(got, "TodoWrite") ||
		!strings.Contains(namesOf(deferred), "TodoWrite") {
		t.Errorf("sent %s, deferred %s", got, namesOf(deferred))
	}
	sent, deferred = b.env.Deferred.Split(all[:4], []string{"Edit"}, serverTools()...)
	if got := namesOf(sent); got != "Read Write Edit Glob CellEdit mcp__mail__send mcp__mail__list" || len(deferred) > 0 {
		t.Errorf("without ToolSearch: %s", got)
	}
}

func TestToolsThatArriveAndLeaveAreAnnounced(t *testing.T) {
	b := newBench(t)
	var log []llm.Message
	step := func(d *tool.Deferral, revision int, tools ...agent.Tool) string {
		d.Split(tool.All(b.env), nil, tools...)
		msgs := d.BeforeStep(func() []llm.Message { return log }, revision)
		log = append(log, msgs...)
		if len(msgs) == 0 {
			return ""
		}
		return msgs[0].PlainText()
	}
	all, d := serverTools(), b.env.Deferred
	want := "<system-reminder>\nThese tools are there too. Load their schemas with ToolSearch before you call them:\n" +
		"- CellEdit: Edits a cell of a Jupyter notebook\n- mcp__mail__*: send\n</system-reminder>"
	if diff := cmp.Diff(want, step(d, 1, all[:2]...)); diff != "" {
		t.Error(diff)
	}
	if got := step(d, 1, all[:2]...); got != "" {
		t.Errorf("announced twice: %s", got)
	}
	want = "<system-reminder>\nMore tools are there now, to be loaded with ToolSearch:\n- mcp__mail__*: send, " +
		"list\n</system-reminder>\n" +
		"<system-reminder>\nThese tools are not there any more:\n- CellEdit\n</system-reminder>"
	if diff := cmp.Diff(want, step(d, 1, all[1:]...)); diff != "" {
		t.Error(diff)
	}
	resumed := &tool.Deferral{}
	if got := step(resumed, 1, all[1:]...); got != "" {
		t.Errorf("announced again after a resume: %s", got)
	}
	log = nil // a compaction took the announcements away
	wantIn(t, step(resumed, 2, all[1:]...), "These tools are there too", "mcp__mail__*: send, list")
}

func TestCarriedCallsAreThoseOfTheRealTool(t *testing.T) {
	canonical := tool.Carried(tool.Catalogue().Canonical)
	for _, c := range []struct{ name, input, wantName, wantInput string }{
		{"CallTool", `{"name":"Write","input":{"file_path":"a","content":"x"}}`, "Write", `{"file_path":"a","content":"x"}`},
		{"CallTool", `{"name":"write_file","input":{"path":"a","content":"x"}}`, "Write", `{"content":"x","file_path":"a"}`},
		{"CallTool", `{"name":"mcp__x__y","input":{}}`, "mcp__x__y", `{}`},
		{
			"CallTool", `{"name":"CallTool","input":{"name":"Write","input":{}}}`, "CallTool",
			`{"name":"CallTool","input":{"name":"Write","input":{}}}`,
		},
		{"CallTool", `{"input":{}}`, "CallTool", `{"input":{}}`},
		{"read_file", `{"path":"a"}`, "Read", `{"file_path":"a"}`},
	} {
		name, input := canonical(c.name, []byte(c.input))
		if input == nil {
			input = []byte(c.input)
		}
		var got, want any
		if err := json.Unmarshal(input, &got); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal([]byte(c.wantInput), &want)
		if d := cmp.Diff(want, got); d != "" || name != c.wantName {
			t.Errorf("%s %s: %s\n%s", c.name, c.input, name, d)
		}
	}
}
