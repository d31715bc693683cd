//go:build linux || darwin

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/face/acp/acptest"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// buffers are the texts of an editor, by path.
type buffers struct {
	mu     sync.Mutex
	texts  map[string]string
	writes int
	broken bool // it answers with errors
}

func (b *buffers) answer(method string, params json.RawMessage) (any, *acptest.Error) {
	var in struct{ Path, Content string }
	_ = json.Unmarshal(params, &in)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return nil, &acptest.Error{Code: -32603, Message: "the editor cannot"}
	}
	if method == "fs/read_text_file" {
		text, open := b.texts[in.Path]
		if !open {
			data, err := os.ReadFile(in.Path)
			if err != nil {
				return nil, &acptest.Error{Code: -32002, Message: err.Error()}
			}
			text = string(data)
		}
		return object{"content": text}, nil
	}
	b.writes++
	b.texts[in.Path] = in.Content
	if err := os.WriteFile(in.Path, []byte(in.Content), 0o600); err != nil {
		return nil, &acptest.Error{Code: -32603, Message: err.Error()}
	}
	return object{}, nil
}

// The model reads what is typed and not saved, and its edits go into the editor.
func TestUnsavedTextsOfAnEditor(t *testing.T) {
	for name, broken := range map[string]bool{"there": false, "broken": true} {
		t.Run(name, func(t *testing.T) {
			p := newJobsPlace(t)
			file := filepath.Join(p.dir, "notes.txt")
			if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			p.serve(llmtest.Replies(
				llmtest.Say(llmtest.Tool("Read", object{"file_path": "notes.txt"})),
				llmtest.Say(llmtest.Tool("Edit", object{"file_path": "notes.txt", "old_string": "two", "new_string": "three"})),
				llmtest.Say(llmtest.Tool("Write", object{"file_path": "made.txt", "content": "made\n"})),
				llmtest.Say(llmtest.Text("done")),
			))
			b := &buffers{texts: map[string]string{file: "zero, unsaved\ntwo\n"}, broken: broken}
			e := p.editor(t, "v1")
			e.buffers, e.choose = b.answer, "allow_always"
			e.initialize(t, object{"fs": object{"readTextFile": true, "writeTextFile": true}})
			id := e.session(t)
			if stop := e.prompt(t, id, "change it"); stop != "end_turn" {
				t.Errorf("%s", stop)
			}
			want, writes := "zero, unsaved\nthree\n", 2
			if broken {
				want, writes = "one\nthree\n", 0
			}
			data, err := os.ReadFile(file)
			if err != nil || string(data) != want || b.writes != writes {
				t.Errorf("%q %v %d", data, err, b.writes)
			}
			if data, err := os.ReadFile(filepath.Join(p.dir, "made.txt")); err != nil || string(data) != "made\n" {
				t.Errorf("%q %v", data, err)
			}
			var sent string
			for _, r := range p.srv.Requests() {
				sent += string(r.Body)
			}
			if strings.Contains(sent, "zero, unsaved") == broken {
				t.Errorf("what the model read: %s", sent)
			}
		})
	}
}

// What is typed between a reading and a change is not overwritten.
func TestAChangeDoesNotOverwriteWhatIsTyped(t *testing.T) {
	p := newJobsPlace(t)
	file := filepath.Join(p.dir, "notes.txt")
	if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.serve(llmtest.Replies(
		llmtest.Say(llmtest.Tool("Read", object{"file_path": "notes.txt"})),
		llmtest.Say(llmtest.Tool("Write", object{"file_path": "notes.txt", "content": "other\n"})),
		llmtest.Say(llmtest.Text("done")),
	))
	b := &buffers{texts: map[string]string{}}
	e := p.editor(t, "v1")
	e.buffers = b.answer
	reads := 0
	e.buffers = func(method string, params json.RawMessage) (any, *acptest.Error) {
		b.mu.Lock()
		if reads++; reads == 2 {
			b.texts[file] = "typed meanwhile\n"
		}
		b.mu.Unlock()
		return b.answer(method, params)
	}
	e.initialize(t, object{"fs": object{"readTextFile": true, "writeTextFile": true}})
	e.prompt(t, e.session(t), "change it")
	if data, err := os.ReadFile(file); err != nil || string(data) != "one\n" || b.writes != 0 {
		t.Errorf("%q %v %d", data, err, b.writes)
	}
	last := p.srv.Requests()
	if body := string(last[len(last)-1].Body); !strings.Contains(body, "modified since it was read") {
		t.Errorf("%s", body)
	}
}
