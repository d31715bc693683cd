package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// example is a page with a plugin process, and a conversation in which it works.
type example struct {
	page, language, file, needs string
	settings                    bool // the page declares it in the settings, not in a plugin
	replies                     []llmtest.Reply
	want                        map[int][]string // texts of the requests, by number
	headers                     map[string]string
}

func (e example) run(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath(e.needs); err != nil {
		t.Skipf("%s is not installed", e.needs)
	}
	home, args := t.TempDir(), []string{"-p", "--permission-mode", "acceptEdits"}
	write := func(name, text string) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plugin/"+e.file, pageBlock(t, e.page, e.language))
	if e.settings {
		program := filepath.Join(home, "bin", "limit")
		if out, err := exec.Command("go", "build", "-o", program, filepath.Join(home, "plugin",
			e.file)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		write(".config/lathe/settings.json", strings.ReplaceAll(pageBlock(t, e.page, "json"), "/home/you/bin/limit", program))
	} else {
		write("plugin/.claude-plugin/plugin.json", pageBlock(t, e.page, "json"))
		args = append(args, "--plugin-dir", filepath.Join(home, "plugin"))
	}
	write("p/a.txt", "hunter2\n")
	srv := llmtest.New(llmtest.Replies(e.replies...),
		llmtest.Options{Vars: map[string]string{"WORKDIR": filepath.Join(home, "p")}})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	cmd := exec.Command(buildLathe(t), append(args, "go on")...)
	cmd.Dir, cmd.Env = filepath.Join(home, "p"), []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=sk-test",
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Done.") {
		t.Fatalf("%v: %s", err, out)
	}
	e.check(t, srv, string(out))
}

func (e example) check(t *testing.T, srv *llmtest.Server, out string) {
	t.Helper()
	requests := srv.Requests()
	for n, texts := range e.want {
		if n > len(requests) {
			t.Fatalf("there are %d requests: %s", len(requests), out)
		}
		for _, text := range texts {
			if !strings.Contains(string(requests[n-1].Body), text) {
				t.Errorf("request %d has no %q: %s\n%s", n, text, out, tailOf(requests[n-1].Body))
			}
		}
		for name, value := range e.headers {
			if got := requests[n-1].Header.Get(name); got != value {
				t.Errorf("request %d: the header %s is %q", n, name, got)
			}
		}
	}
	for i := 1; i < len(requests); i++ {
		if why := llmtest.SamePrefix(requests[i-1].Body, requests[i].Body); why != nil {
			t.Errorf("request %d does not begin as the one before: %v", i+1, why)
		}
	}
}

func tailOf(b []byte) []byte { return b[max(0, len(b)-2000):] }

func TestThePythonExampleOfAPluginProcessWorks(t *testing.T) {
	example{
		page: "plugin-process-python.md", language: "python", file: "words.py", needs: "python3",
		replies: []llmtest.Reply{
			llmtest.Say(llmtest.Tool("ToolSearch", map[string]any{"query": "select:CountWords"})),
			llmtest.Say(llmtest.Tool("CallTool", map[string]any{
				"name":  "CountWords",
				"input": map[string]any{"text": "one two three"},
			})),
			llmtest.Say(llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/go.lock", "content": "x"})),
			llmtest.Say(llmtest.Text("Done.")),
		},
		want: map[int][]string{
			1: {"Plugin words: It is ", "CountWords: Counts the words"}, 3: {"3 words"},
			4: {"lock files are written by their tools"},
		},
	}.run(t)
}

func TestTheJavaScriptExampleOfAPluginProcessWorks(t *testing.T) {
	example{
		page: "plugin-process-javascript.md", language: "js", file: "notes.mjs", needs: "node",
		replies: []llmtest.Reply{
			llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
			llmtest.Say(llmtest.Tool("ToolSearch", map[string]any{"query": "select:TakeNote"})),
			llmtest.Say(llmtest.Tool("CallTool", map[string]any{
				"name":  "TakeNote",
				"input": map[string]any{"note": "use tabs"},
			})),
			llmtest.Say(llmtest.Text("Done.")),
		},
		want: map[int][]string{
			1: {"Take a note of each decision"}, 2: {"[hidden]"},
			4: {"note 1 is kept", "Plugin notes: Notes so far: use tabs"},
		},
	}.run(t)
}

func TestTheGoExampleOfAPluginProcessWorks(t *testing.T) {
	host, _ := os.Hostname()
	example{
		page: "plugin-process-go.md", language: "go", file: "limit.go", needs: "go", settings: true,
		replies: []llmtest.Reply{llmtest.Say(llmtest.Text("Done."))},
		want:    map[int][]string{1: {"The host is " + host, `"max_tokens":4000`}},
		headers: map[string]string{"X-Team": "compilers"},
	}.run(t)
}

func TestTheSchemaOfPluginProcessesIsPrinted(t *testing.T) {
	out, err := exec.Command(buildLathe(t), "plugin", "schema").Output()
	var schema struct {
		Methods map[string]any
	}
	if err != nil || json.Unmarshal(out, &schema) != nil || schema.Methods["tool/before"] == nil {
		t.Errorf("%v: %s", err, out)
	}
}
