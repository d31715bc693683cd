package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// lspPlugin makes a home with a project and a plugin that has a language server for its files. The server's answers are
// in the project, which it sees.
func lspPlugin(t *testing.T) (home, project string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project = filepath.Join(home, "p")
	put := func(name string, v any) {
		text, ok := v.(string)
		if !ok {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	exe := filepath.Ext(os.Args[0]) // .exe or .test
	if err := os.MkdirAll(filepath.Join(home, "plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(os.Args[0], filepath.Join(home, "plugin", "server"+exe)); err != nil {
		t.Skipf("the test's program cannot be linked into the plugin: %v", err)
	}
	put("plugin/.claude-plugin/plugin.json", object{"name": "oddlang"})
	put("plugin/.lsp.json", object{"odd": object{
		"command": "${CLAUDE_PLUGIN_ROOT}/server" + exe, "args": []string{"--stdio"},
		"extensionToLanguage": object{lsptest.Extension: "odd"}, "env": object{lsptest.Variable: project}, "data": true,
	}})
	put("p/a"+lsptest.Extension, "one\ntwo\nthree is where it is defined\n")
	put("p/answers", object{"textDocument/definition": []any{lsptest.Place(filepath.Join(project, "a"+lsptest.Extension),
		2)}})
	return home, project
}

func TestTheLanguageServerOfAPluginAnswers(t *testing.T) {
	home, project := lspPlugin(t)
	srv := llmtest.New(llmtest.Replies(
		llmtest.Say(llmtest.Tool("ToolSearch", map[string]any{"query": "select:LSP"})),
		llmtest.Say(llmtest.Tool("CallTool", map[string]any{
			"name": "LSP",
			"input": map[string]any{
				"operation": "goToDefinition", "file_path": filepath.Join(project, "a"+lsptest.Extension),
				"line": 1, "character": 1,
			},
		})),
		llmtest.Say(llmtest.Text("Done.")),
	), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	run := func(args ...string) string {
		cmd := exec.Command(buildLathe(t), args...)
		cmd.Dir, cmd.Env = project, []string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + srv.URL(),
			"ANTHROPIC_API_KEY=sk-test",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := run("-p", "--plugin-dir", filepath.Join(home, "plugin"), "where is it"); !strings.Contains(out, "Done.") {
		t.Fatal(out)
	}
	requests := srv.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "a.fk:3: three is where it is defined") {
		t.Errorf("the server of the plugin did not answer: %s", tailOf([]byte(last)))
	}
}
