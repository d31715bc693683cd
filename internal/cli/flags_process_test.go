//go:build unix

package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// answered runs one turn in which the model only answers, and returns the first request's header and body.
func answered(t *testing.T, files map[string]string, flags ...string) (d *driven, header http.Header, body string) {
	t.Helper()
	d = drive(t, "final\n  say Done.\n", flags...)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(d.dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		d.write(name, text)
	}
	d.send(said("/greet you", "one"))
	if r := d.kind("result"); r["is_error"] != false {
		t.Fatalf("%v", r)
	}
	d.end()
	r := d.srv.Requests()[0]
	return d, r.Header, string(r.Body)
}

var projectFiles = map[string]string{
	"CLAUDE.md":                     "memory of the project",
	".claude/skills/heron/SKILL.md": "---\nname: heron\ndescription: about herons\n---\nBody.\n",
	".claude/skills/otter/SKILL.md": "---\nname: otter\ndescription: about otters\n---\nBody.\n",
	".claude/commands/greet.md":     "Greet with a bow.",
}

func TestBareAndNoCommandsLeaveOutWhatTheyPromise(t *testing.T) {
	all := []string{"memory of the project", "about herons", "Greet with a bow"}
	for _, tt := range []struct {
		flags []string
		want  []string
	}{
		{nil, all},
		{[]string{"--disable-slash-commands"}, all[:1]},
		{[]string{"--bare"}, nil},
	} {
		d, _, body := answered(t, projectFiles, tt.flags...)
		for _, text := range all {
			if strings.Contains(body, text) != slices.Contains(tt.want, text) {
				t.Errorf("%q: the request has %q: %v", tt.flags, text, strings.Contains(body, text))
			}
		}
		start := d.seen[0]
		skills, commands := start["skills"].([]any), start["slash_commands"].([]any)
		if want := tt.flags == nil; (len(skills) == 3) != want || slices.Contains(commands, any("greet")) != want ||
			(len(start["agents"].([]any)) == 4) != (len(tt.flags) == 0 || tt.flags[0] != "--bare") {
			t.Errorf("%q: skills %v, commands %v", tt.flags, skills, commands)
		}
		if tt.flags != nil && len(skills)+len(commands) > 0 {
			t.Errorf("%q: skills %v, commands %v", tt.flags, skills, commands)
		}
	}
}

func TestAListOfSkillsHidesTheOthersFromTheModel(t *testing.T) {
	d := drive(t, "final\n  say Done.\n")
	for name, text := range projectFiles {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(d.dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		d.write(name, text)
	}
	if _, text := d.ask(`{"subtype":"initialize","skills":["heron"]}`); text != "" {
		t.Fatal(text)
	}
	for _, c := range []struct{ typed, has, hasNot string }{
		{"hello", "about herons", "about otters"},
		{"/greet you", "Greet with a bow", "about otters"},
	} {
		d.send(said(c.typed, c.typed))
		d.kind("result")
		all := d.srv.Requests()
		if body := string(all[len(all)-1].Body); !strings.Contains(body, c.has) || strings.Contains(body, c.hasNot) {
			t.Errorf("%s: %s", c.typed, body)
		}
	}
	d.end()
}

func TestBetasAreSent(t *testing.T) {
	_, header, _ := answered(t, projectFiles, "--betas", "one-2025-01-01,two-2025-01-01")
	sent := strings.Join(header.Values("anthropic-beta"), ",")
	for _, name := range []string{"one-2025-01-01", "two-2025-01-01"} {
		if !strings.Contains(sent, name) {
			t.Errorf("anthropic-beta is %q", sent)
		}
	}
}

func TestDebugRecordsTheChosenKinds(t *testing.T) {
	for _, tt := range []struct {
		filter   string
		has, not []string
	}{
		{"--debug", []string{`"kind":"turn`, `"kind":"api`}, nil},
		{"--debug=turn", []string{`"kind":"turn`}, []string{`"kind":"api`}},
		{"--debug=!turn", []string{`"kind":"api`}, []string{`"kind":"turn`}},
	} {
		file := filepath.Join(t.TempDir(), "debug.jsonl")
		d, _, _ := answered(t, projectFiles, tt.filter, "--debug-file", file)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tt.has {
			if !strings.Contains(string(b), text) {
				t.Errorf("%s: nothing has %s:\n%s", tt.filter, text, b)
			}
		}
		for _, text := range tt.not {
			if strings.Contains(string(b), text) {
				t.Errorf("%s: %s was recorded:\n%s", tt.filter, text, b)
			}
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(d.dir), ".local/state/lathe/debug")); err == nil {
			t.Errorf("%s: the folders were made besides the file", tt.filter)
		}
	}
}

func TestATextIsPrintedBeforeASlowCallIsComplete(t *testing.T) {
	printed := make(chan struct{})
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if n++; n > 1 {
			fmt.Fprint(w, sse("end_turn", textBlock(0, "Done.")))
			return
		}
		whole := sse("tool_use", textBlock(0, "Here it comes."), callBlock(1, "Bash", `{"command":`, `"true"}`))
		at := strings.Index(whole, `"true`)
		at = strings.LastIndex(whole[:at], "event: ")
		fmt.Fprint(w, whole[:at])
		w.(http.Flusher).Flush()
		select {
		case <-printed:
			fmt.Fprint(w, whole[at:])
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	d := drive(t, "final\n  say Unused.\n", "--settings", `{"providers":{"anthropic":{"apiBase":"`+srv.URL+`"}}}`,
		"--dangerously-skip-permissions")
	d.send(said("go", "one"))
	d.until("the text", func(m map[string]any) bool {
		return m["type"] == "assistant" && strings.Contains(toJSON(m), "Here it comes.")
	})
	close(printed)
	if r := d.kind("result"); r["result"] != "Done." {
		t.Errorf("%v", r)
	}
	d.end()
}

func sse(stop string, blocks ...string) string {
	return sseOf("message_start", `"message":{"id":"`+stop+
		`","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}`) +
		strings.Join(blocks, "") + sseOf("message_delta", `"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":2}`) +
		sseOf("message_stop", `"x":0`)
}

func sseOf(kind, fields string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"," + fields + "}\n\n"
}

func textBlock(i int, text string) string {
	return sseOf("content_block_start", fmt.Sprintf(`"index":%d,"content_block":{"type":"text","text":""}`, i)) +
		sseOf("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{"type":"text_delta","text":%q}`, i, text)) +
		sseOf("content_block_stop", fmt.Sprintf(`"index":%d`, i))
}

func callBlock(i int, name string, input ...string) string {
	out := sseOf("content_block_start", fmt.Sprintf(
		`"index":%d,"content_block":{"type":"tool_use","id":"toolu_1","name":%q,"input":{}}`, i, name))
	for _, part := range input {
		out += sseOf("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{"type":"input_json_delta","partial_json":%q}`,
			i, part))
	}
	return out + sseOf("content_block_stop", fmt.Sprintf(`"index":%d`, i))
}
