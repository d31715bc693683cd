package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestABatchHandsEachCallOnAndShowsEachResult(t *testing.T) {
	b := newBench(t)
	var got []llm.ToolCall
	b.env.Invoke = func(_ context.Context, calls []llm.ToolCall) []llm.ToolResult {
		got = calls
		return []llm.ToolResult{llm.TextResult(calls[0], "one", false), llm.TextResult(calls[1], "no such file", true)}
	}
	read := func(path string) in { return in{"tool": "Read", "input": in{"file_path": path}} }
	text := b.must("Batch", in{"calls": []in{read("a"), read("b")}})
	if len(got) != 2 || got[1].Name != "Read" || string(got[1].Input) != `{"file_path":"b"}` {
		t.Errorf("%+v", got)
	}
	wantIn(t, text, "## 1. Read: ok\none", "## 2. Read: error\nno such file")
	for _, nested := range []in{
		{"tool": "batch", "input": in{}},
		{"tool": "multi_tool_use.parallel", "input": in{}},
		{"tool": "CallTool", "input": in{"name": "Batch"}},
	} {
		b.fails("Batch", in{"calls": []in{read("a"), nested}}, "call 2 is a Batch itself")
	}
	var many []in
	for range 26 {
		many = append(many, read("a"))
	}
	b.fails("Batch", in{"calls": many}, "25 are the most")
	b.env.Invoke = func(_ context.Context, calls []llm.ToolCall) (out []llm.ToolResult) {
		for i, c := range calls {
			out = append(out, llm.TextResult(c, fmt.Sprintf("result %d.", i+1), false))
		}
		return out
	}
	all := b.must("Batch", in{"calls": many[:25]})
	for i := 1; i <= 25; i++ {
		if n := strings.Count(all, fmt.Sprintf("## %d. Read: ok\nresult %d.", i, i)); n != 1 {
			t.Errorf("result %d is there %d times", i, n)
		}
	}
	b.fails("Batch", in{"calls": []in{}}, "empty")
}

func TestOpenStartsTheDesktopsProgramWithoutAShell(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program has another name")
	}
	b := newBench(t)
	bin := t.TempDir()
	out := filepath.Join(bin, "out")
	script := fmt.Sprintf("#!/bin/sh\nfor a; do echo \"[$a]\"; done > %s\n[ \"$1\" != http://fails.test/ ] || { echo "+
		"no browser >&2; exit 3; }\n", out)
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	b.put("my $(touch x).html", "page\n")
	for target, want := range map[string]string{
		"https://go.dev/a?b=c&d=$(id)": "[https://go.dev/a?b=c&d=$(id)]\n",
		"my $(touch x).html":           "[" + filepath.Join(b.dir, "my $(touch x).html") + "]\n",
		".":                            "[" + b.dir + "]\n",
	} {
		b.must("Open", in{"target": target})
		if got, err := os.ReadFile(out); err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", target, got, err, want)
		}
	}
	b.fails("Open", in{"target": "http://fails.test/"}, "exit code 3", "no browser", "Ask the user")
}

func TestOpenTakesPagesAndFilesOnly(t *testing.T) {
	b := newBench(t)
	if err := os.Chmod(b.put("run", "#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.put("x.desktop", "[Desktop Entry]\nExec=rm\n")
	for target, want := range map[string]string{
		"file:///etc/passwd": "only http and https", "javascript:alert(1)": "only http and https",
		"vscode://x": "only http and https", "ssh://host": "only http and https",
		"mailto:a@b.c": "only http and https", "https://": "only http and https", "https://u:p@h.test": "password",
		"-a": "cannot be opened", "x.desktop": "which opening would run", "run": "which opening would run",
		"missing": "does not exist", "": "names nothing",
	} {
		if runtime.GOOS == "windows" && target == "run" {
			continue
		}
		b.fails("Open", in{"target": target}, want)
	}
}

func TestOpenAsksForTheFileOrTheHost(t *testing.T) {
	b := newBench(t)
	b.put("a.html", "x\n")
	for target, want := range map[string]permission.Access{
		"a.html":           {Kind: permission.Read, Target: filepath.Join(b.dir, "a.html")},
		"https://go.dev/x": {Kind: permission.Net, Target: "go.dev"},
	} {
		plan, err := b.prepare("Open", in{"target": target})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Accesses) != 2 || plan.Accesses[0].Kind != permission.Tool || plan.Accesses[0].Safe ||
			!plan.Accesses[0].Asks || plan.Accesses[1].Kind != want.Kind || !strings.HasSuffix(plan.Accesses[1].Target,
			want.Target) {
			t.Errorf("%s: %+v", target, plan.Accesses)
		}
		if plan.Parallel {
			t.Error("it runs beside others")
		}
	}
}
