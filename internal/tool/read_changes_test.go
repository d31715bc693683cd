package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// reader is a model that knows a file only from the results that its conversation still has.
type reader struct {
	t     *rapid.T
	path  string
	agent *agent.Agent
	log   []exchange
	count int
}

// exchange is one call with its result.
type exchange struct {
	id, name string
	input    map[string]any
	result   string
	gone     bool // compacted, or left behind by a checkout
	left     bool // by a checkout, so that nothing of it is there
	whole    bool // it was in the conversation from the start; false: an error
}

func newReader(t *rapid.T, dir string) *reader {
	r := &reader{t: t, path: filepath.Join(dir, "a.txt")}
	env, err := tool.NewEnv(dir)
	if err != nil {
		t.Fatal(err)
	}
	env.InContext = func(id string) bool {
		return slices.ContainsFunc(r.log, func(e exchange) bool { return e.id == id && e.whole && !e.gone })
	}
	tools := agent.ToolSet{Version: 1, Tools: tool.All(env)}
	r.agent = agent.New(agent.Config{
		Journal: agent.Journal{Transcript: &agent.Memory{}},
		Calls: agent.Calls{
			Tools: func(context.Context) (agent.ToolSet, error) { return tools, nil },
			Authorize: func(context.Context, agent.Approval) (permission.Decision, error) {
				return permission.Decision{Effect: permission.Allow}, nil
			},
		},
	})
	return r
}

func (r *reader) call(name string, input map[string]any) exchange {
	r.count++
	input["file_path"] = r.path
	raw, err := json.Marshal(input)
	if err != nil {
		r.t.Fatal(err)
	}
	e := exchange{id: fmt.Sprintf("toolu_%d", r.count), name: name, input: input}
	res := r.agent.Invoke(context.Background(), []llm.ToolCall{{ID: e.id, Name: name, Input: raw}})[0]
	e.result, e.whole = res.PlainText(), !res.IsError
	r.log = append(r.log, e)
	return e
}

var (
	numbered = regexp.MustCompile(`(?m)^(\d+)\t(.*)$`)
	hunk     = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$`)
)

const (
	unchangedHead = "File unchanged since last read."
	changedHead   = "File changed since your full Read of it. Diff from that text to now:\n"
)

// known are the file's lines as the model can tell them from the results that it still has.
func (r *reader) known() map[int]string {
	full, now := []string(nil), map[int]string{}
	put := func(lines []string) {
		now = map[int]string{}
		for i, l := range lines {
			now[i+1] = l
		}
	}
	for _, e := range r.log {
		whole := e.name == "Read" && e.whole && e.input["offset"] == nil && numbered.MatchString(e.result)
		switch {
		case e.left:
		case e.gone && whole:
			full = nil // a diff from it says nothing now
		case e.gone || !e.whole:
		case e.name == "Write":
			put(split(e.input["content"].(string)))
		case e.name != "Read" || strings.HasPrefix(e.result, unchangedHead):
		case strings.HasPrefix(e.result, changedHead) && full == nil:
		case strings.HasPrefix(e.result, changedHead):
			put(r.patched(full, strings.TrimPrefix(e.result, changedHead)))
		default:
			shown := shownLines(e.result)
			maps.Copy(now, shown)
			if whole {
				full = make([]string, len(shown))
				for n, l := range shown {
					full[n-1] = l
				}
				put(full)
			}
		}
	}
	return now
}

// patched applies a unified diff, and holds it to what such a diff promises.
func (r *reader) patched(old []string, diff string) []string {
	var out []string
	at := 0
	for row := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
		if m := hunk.FindStringSubmatch(row); m != nil {
			from := number(m[1])
			if m[2] != "0" {
				from--
			}
			out = append(out, old[at:from]...)
			at = from
			if now := number(m[3]); m[4] != "0" && now != len(out)+1 {
				r.t.Fatalf("%s: the new line is %d", row, len(out)+1)
			}
			continue
		}
		if row[0] != '+' {
			if old[at] != row[1:] {
				r.t.Fatalf("%q does not match line %d, %q", row, at+1, old[at])
			}
			at++
		}
		if row[0] != '-' {
			out = append(out, row[1:])
		}
	}
	return append(out, old[at:]...)
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func shownLines(result string) map[int]string {
	out := map[int]string{}
	for row := range strings.SplitSeq(result, "\n") {
		if m := numbered.FindStringSubmatch(row); m != nil {
			out[number(m[1])] = m[2]
		}
	}
	return out
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func (r *reader) file() []string {
	data, err := os.ReadFile(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	return split(string(data))
}

func (r *reader) put(lines []string) {
	if err := os.WriteFile(r.path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// check holds that after a Read the model knows the lines that it asked for, as the file has them.
func (r *reader) check(e exchange) {
	if !e.whole {
		r.t.Fatalf("Read: %s", e.result)
	}
	lines, known := r.file(), r.known()
	first, last := 1, len(lines)
	if n, ok := e.input["offset"].(int); ok {
		first, last = n, min(last, n+e.input["limit"].(int)-1)
	}
	for n := first; n <= last; n++ {
		if got, ok := known[n]; !ok || got != lines[n-1] {
			r.t.Fatalf("after\n%s\nthe model takes line %d for %q, it is %q (known: %v)\nlog: %s", e.result, n, got, lines[n-1],
				ok, r.story())
		}
	}
}

func (r *reader) story() string {
	var b strings.Builder
	for _, e := range r.log {
		fmt.Fprintf(&b, "%s %s %v gone=%v:\n%s\n", e.id, e.name, e.input, e.gone, e.result)
	}
	return b.String()
}

// changed is the lines after a change by somebody else.
func changed(t *rapid.T, lines []string) []string {
	word := fmt.Sprintf("line written %d", rapid.IntRange(0, 99).Draw(t, "word"))
	at := rapid.IntRange(0, max(0, len(lines)-1)).Draw(t, "at")
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 0 && len(lines) > 3:
		return slices.Delete(lines, at, min(len(lines), at+rapid.IntRange(1, 3).Draw(t, "n")))
	case kind == 1:
		return slices.Insert(lines, at, word, word+" too")
	case kind == 2 && len(lines) > 0:
		lines[at] = word
		return lines
	}
	return append(lines, word)
}

func (r *reader) step() {
	t := r.t
	lines := r.file()
	switch rapid.SampledFrom([]string{
		"read", "read", "read", "part", "part", "other", "edit", "write", "compact",
		"checkout", "undo",
	}).Draw(t, "step") {
	case "read":
		r.check(r.call("Read", map[string]any{}))
	case "part":
		first := rapid.IntRange(1, max(1, len(lines))).Draw(t, "offset")
		r.check(r.call("Read", map[string]any{"offset": first, "limit": rapid.IntRange(1, 40).Draw(t, "limit")}))
	case "other":
		r.put(changed(t, lines))
	case "edit":
		if len(lines) > 0 {
			old := lines[rapid.IntRange(0, len(lines)-1).Draw(t, "line")]
			r.call("Edit", map[string]any{"old_string": old + "\n", "new_string": "edited " + old + "\n" + old + " more\n"})
		}
	case "write":
		r.call("Write", map[string]any{"content": strings.Join(changed(t, lines), "\n") + "\n"})
	case "compact":
		for i := range r.log {
			r.log[i].gone = r.log[i].gone || rapid.IntRange(0, 2).Draw(t, "stub") == 0
		}
	case "checkout": // to where an earlier result is sent again
		for i := range r.log {
			r.log[i].left = i > len(r.log)*3/4
			r.log[i].gone = r.log[i].left
		}
	case "undo":
		r.put(startLines())
	}
}

func startLines() []string {
	var out []string
	for i := range 230 {
		out = append(out, fmt.Sprintf("this is the text of line %d", i%97))
	}
	return out
}

func TestTheModelCanAlwaysTellTheFileFromItsReads(t *testing.T) {
	brief := 0
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		r := newReader(t, dir)
		r.put(startLines())
		for range rapid.IntRange(3, 30).Draw(t, "steps") {
			r.step()
		}
		for _, e := range r.log {
			if strings.HasPrefix(e.result, changedHead) {
				brief++
			}
		}
	})
	if brief < 20 { // by chance some 100
		t.Errorf("only %d answers gave changes: the test shows little", brief)
	}
}
