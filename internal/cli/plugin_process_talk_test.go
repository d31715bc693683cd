package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// talked is what a program prints for requests, each line with its keys in order.
func talked(t *testing.T, argv []string, requests ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(strings.Join(requests, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
	var all []string
	for line := range bytes.Lines(out) {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return strings.Join(all, "\n")
}

// pageProgram writes the program of a page to a folder.
func pageProgram(t *testing.T, page, language, file, needs string) string {
	t.Helper()
	if _, err := exec.LookPath(needs); err != nil {
		t.Skipf("%s is not installed", needs)
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(pageBlock(t, page, language)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func says(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains("\n"+got+"\n", w) {
			t.Errorf("it does not say %s:\n%s", w, got)
		}
	}
}

// unknown is the answer to a method that a program does not have.
const unknown = `{"error":{"code":-32601,"message":"unknown method"},"id":9,"jsonrpc":"2.0"}` + "\n"

func TestThePythonExampleSaysWhatItsPagePromises(t *testing.T) {
	got := talked(t, []string{"python3", pageProgram(t, "plugin-process-python.md", "python", "words.py", "python3")},
		`{"id":1,"method":"initialize","params":{}}`,
		`{"method":"event","params":{}}`,
		`{"id":2,"method":"tool/call","params":{"input":{"text":"a b"}}}`,
		`{"id":3,"method":"tool/call","params":{"input":{"text":"a"}}}`,
		`{"id":4,"method":"tool/before","params":{"input":{"file_path":"a.lock"}}}`,
		`{"id":5,"method":"tool/before","params":{"input":{"file_path":"a.txt"}}}`,
		`{"id":6,"method":"tool/before","params":{"input":{}}}`,
		`{"id":7,"method":"command/run","params":{"arguments":"cats"}}`,
		`{"id":8,"method":"tool/call","params":{}}`,
		`{"id":9,"method":"gone","params":{}}`)
	says(t, got,
		`"match":["Write","Edit"]`,
		`"commands":[{"arguments":"TOPIC","description":"Write an essay of a few words","name":"essay"}]`,
		`{"jsonrpc":"2.0","method":"status","params":{"text":"2 counted"}}`,
		`{"id":3,"jsonrpc":"2.0","result":{"text":"1 words"}}`,
		`{"id":2,"jsonrpc":"2.0","result":{"text":"2 words"}}`,
		`"result":{"decision":"deny","reason":"lock files are written by their tools"}`,
		`{"id":5,"jsonrpc":"2.0","result":{}}`, `{"id":6,"jsonrpc":"2.0","result":{}}`,
		`{"id":7,"jsonrpc":"2.0","result":{"prompt":"Write an essay of 50 words about cats."}}`,
		`{"error":{"code":-32603,"message":"'input'"},"id":8,"jsonrpc":"2.0"}`, "\n"+unknown)
}

func TestTheJavaScriptExampleSaysWhatItsPagePromises(t *testing.T) {
	got := talked(t, []string{"node", pageProgram(t, "plugin-process-javascript.md", "js", "notes.mjs", "node")},
		`{"id":1,"method":"initialize","params":{}}`,
		`{"id":2,"method":"tool/call","params":{"call_id":"c","input":{"note":"x"}}}`,
		`{"method":"event","params":{"kind":"turn_begin"}}`,
		`{"method":"event","params":{"kind":"turn_end"}}`,
		`{"id":3,"method":"step/before","params":{}}`,
		`{"id":4,"method":"step/before","params":{}}`,
		`{"id":5,"method":"tool/after","params":{"result":"plain"}}`,
		`{"id":6,"method":"tool/after","params":{"result":"hunter2 and hunter2"}}`,
		`{"id":8,"method":"tool/after","params":{}}`,
		`{"id":9,"method":"gone","params":{}}`)
	says(t, got,
		`"events":["turn_end"]`,
		`{"jsonrpc":"2.0","method":"tool/output","params":{"call_id":"c","text":"writing it down\n"}}`,
		"\n"+`{"jsonrpc":"2.0","method":"status","params":{"text":"1 notes"}}`+"\n"+
			`{"id":3,"jsonrpc":"2.0","result":{"append":"Notes so far: x"}}`,
		`{"id":4,"jsonrpc":"2.0","result":{}}`, `{"id":5,"jsonrpc":"2.0","result":{}}`,
		`{"id":6,"jsonrpc":"2.0","result":{"result":"[hidden] and [hidden]"}}`,
		`{"error":{"code":-32603,`, "\n"+unknown)
	if n := strings.Count(got, `"status"`); n != 1 {
		t.Errorf("it tells its status %d times:\n%s", n, got)
	}
}

func TestTheGoExampleSaysWhatItsPagePromises(t *testing.T) {
	path := pageProgram(t, "plugin-process-go.md", "go", "limit.go", "go")
	program := filepath.Join(filepath.Dir(path), "limit")
	if out, err := exec.Command("go", "build", "-o", program, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := talked(t, []string{program},
		`{"method":"event","params":{}}`, `no JSON`,
		`{"id":1,"method":"initialize","params":{}}`,
		`{"id":2,"method":"request/before","params":{}}`,
		`{"id":9,"method":"gone","params":{}}`)
	says(t, got, `{"id":1,"jsonrpc":"2.0","result":{"calls":["request/before"],"context":["host"]}}`,
		`{"id":2,"jsonrpc":"2.0","result":{"headers":{"X-Team":"compilers"},"max_tokens":4000}}`, "\n"+unknown)
	if n := strings.Count(got, "\n"); n != 2 {
		t.Errorf("it answers what is no request:\n%s", got)
	}
}
