package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// bench is a session's tools in a temporary folder.
type bench struct {
	t     testing.TB
	env   *tool.Env
	dir   string
	calls int
	last  string // id of the last call
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env, err := tool.NewEnv(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Roots.Close() })
	return &bench{t: t, env: env, dir: dir}
}

// put writes a file the tools know nothing of.
func (b *bench) put(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) content(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) tool(name string) agent.Tool { return toolOf(b.env, name) }

// toolOf is a tool of a session by its name, or nil.
func toolOf(env *tool.Env, name string) agent.Tool {
	for _, t := range tool.All(env) {
		if t.Spec().Name == name {
			return t
		}
	}
	return nil
}

type in map[string]any

func (b *bench) prepare(name string, input in) (*agent.Plan, error) {
	b.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.t.Fatal(err)
	}
	b.calls++
	b.last = fmt.Sprintf("call_%d", b.calls)
	return b.tool(name).Prepare(context.Background(), llm.ToolCall{ID: b.last, Name: name, Input: raw})
}

// call runs a tool as the agent would, and returns the result.
func (b *bench) call(name string, input in) (*agent.Result, error) {
	b.t.Helper()
	plan, err := b.prepare(name, input)
	if err != nil {
		return nil, err
	}
	if plan.Close != nil {
		defer plan.Close()
	}
	return plan.Run(context.Background())
}

// must is call where it has to succeed; it returns the text.
func (b *bench) must(name string, input in) string {
	b.t.Helper()
	r, err := b.call(name, input)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, input, err)
	}
	return text(r)
}

// fails is call where it has to fail; it returns the error's text, which must hold every one of want.
func (b *bench) fails(name string, input in, want ...string) string {
	b.t.Helper()
	r, err := b.call(name, input)
	if err == nil {
		b.t.Fatalf("%s %v worked: %s", name, input, text(r))
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("%s %v: error %q does not say %q", name, input, err, w)
		}
	}
	return err.Error()
}

func text(r *agent.Result) string { return llm.ToolResult{Parts: r.Parts}.PlainText() }

func wantIn(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in:\n%s", w, got)
		}
	}
}

func TestDescriptionsAndSchemasStaySmallAndValid(t *testing.T) {
	b := newBench(t)
	sum := 0
	for _, tl := range tool.All(b.env) {
		s := tl.Spec()
		var schema map[string]any
		if err := json.Unmarshal(s.Schema, &schema); err != nil {
			t.Errorf("%s: schema: %v", s.Name, err)
		}
		if _, says := schema["additionalProperties"]; !s.Closed || says {
			t.Errorf("%s: unknown properties are let through, or the schema spends bytes on refusing them", s.Name)
		}
		n := len(s.Description) + len(s.Schema)
		t.Logf("%-12s description %4d schema %4d", s.Name, len(s.Description), len(s.Schema))
		if len(s.Description) > 900 && s.Name != "Bash" {
			t.Errorf("%s: the description has %d bytes", s.Name, len(s.Description))
		}
		if !bytes.Contains([]byte(s.Description), []byte(". ")) && len(s.Description) < 40 {
			t.Errorf("%s: the description says nothing", s.Name)
		}
		if !s.Unlisted { // those are sent when the model asks for them
			sum += n
		}
	}
	if sum > 12_000 {
		t.Errorf("all tools of a first request together have %d bytes", sum)
	}
}
