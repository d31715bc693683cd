package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	numbered = regexp.MustCompile(`^(\d+)\t(.*)$`)
	hunk     = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$`)
	movedBy  = regexp.MustCompile(`; line (\d+) was line (\d+)`)
)

// known are the file's lines as the model can tell them from the results that it still has.
func (r *reader) known() map[int]string {
	full, now := map[int]string{}, map[int]string{}
	for _, e := range r.log {
		switch {
		case e.gone || !e.whole:
		case e.name == "Write":
			full, now = map[int]string{}, map[int]string{}
			for i, l := range split(e.input["content"].(string)) {
				full[i+1], now[i+1] = l, l
			}
		case e.name != "Read" || strings.HasPrefix(e.result, "[Unchanged"):
		case strings.HasPrefix(e.result, "[As in the last full text"):
			r.apply(e, full, now)
		default:
			for n, l := range shownLines(e.result) {
				full[n], now[n] = l, l
			}
		}
	}
	return now
}

// apply works out the lines that an answer of changes gives for.
func (r *reader) apply(e exchange, full, now map[int]string) {
	first, count := 1, len(r.file())
	if n, ok := e.input["offset"].(int); ok {
		first = n
	}
	if n, ok := e.input["limit"].(int); ok {
		count = n
	}
	old := first
	if m := movedBy.FindStringSubmatch(e.result); m != nil {
		old = first + number(m[2]) - number(m[1])
	}
	at, end := first, first+count
	same := func(to int) {
		for ; at < to; at, old = at+1, old+1 {
			now[at] = full[old]
		}
	}
	rows := strings.Split(e.result, "\n")
	for i, row := range rows {
		m := hunk.FindStringSubmatch(row)
		if m == nil {
			continue
		}
		from, was := number(m[3]), count1(m[2])
		if count1(m[4]) == 0 {
			from++
		}
		same(from)
		for _, row := range rows[i+1:] {
			m := numbered.FindStringSubmatch(row)
			if m == nil {
				break
			}
			now[at] = m[2]
			at++
		}
		old += was
	}
	same(end)
}

func count1(s string) int {
	if s == "" {
		return 1
	}
	return number(s)
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
			r.log[i].gone = i > len(r.log)*3/4
		}
	case "undo":
		r.put(startLines())
	}
}

func startLines() []string {
	var out []string
	for i := range 30 {
		out = append(out, fmt.Sprintf("this is the text of line %d", i%17))
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
			if strings.HasPrefix(e.result, "[As in the last full text") {
				brief++
			}
		}
	})
	if brief < 20 { // by chance some 100
		t.Errorf("only %d answers gave changes: the test shows little", brief)
	}
}
