package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/transcript"
)

func begin(t testing.TB) (*session.Session, *transcript.File) {
	t.Helper()
	log, err := session.NewStore(t.TempDir()).Create(t.Context(), session.Meta{Dir: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log, transcript.New(log, log.ID())
}

// add adds entries to a log.
func add(t testing.TB, log *session.Session, bodies ...session.Body) {
	t.Helper()
	for _, b := range bodies {
		if _, err := log.Add(t.Context(), b); err != nil {
			t.Fatalf("%s: %v", b.Kind(), err)
		}
	}
}

func user(text string) session.User { return session.User{Message: llm.UserText(text)} }

func say(index int, text string) session.Part {
	return session.Part{Index: index, Part: llm.Text{Text: text}}
}

func call(index int, id string) session.Part {
	return session.Part{Index: index, Part: llm.ToolCall{ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}}
}

func end(id, text string) session.CallEnd {
	return session.CallEnd{
		Result: llm.TextResult(llm.ToolCall{ID: id, Name: "Bash"}, text, false),
		Meta:   json.RawMessage(`{"stdout":"` + text + `"}`),
	}
}

func reply(id string, parts int, stop llm.StopReason) session.Reply {
	return session.Reply{MessageID: id, Model: "m", Parts: parts, Stop: stop, Usage: &llm.Usage{
		Input: 3, Output: 5,
		CacheRead: 7, CacheWrite: 11,
	}}
}

// read updates the file, checks the chain of its lines, and describes each line in a few words.
func read(t testing.TB, f *transcript.File) (rows []string) {
	t.Helper()
	if err := f.Update(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	parent := ""
	for l := range bytes.Lines(data) {
		var v struct {
			Parent  *string `json:"parentUuid"`
			UUID    string
			Type    string
			Subtype string
			Message struct {
				ID      string
				Content json.RawMessage
				Usage   json.RawMessage
			}
			IsMeta, IsCompactSummary bool
		}
		if err := json.Unmarshal(l, &v); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		if v.UUID != "" {
			if v.Subtype == "compact_boundary" {
				parent = ""
			}
			if got := v.Parent; (got == nil) != (parent == "") || got != nil && *got != parent {
				t.Errorf("the parent of %s is %v, not %q", l, got, parent)
			}
			parent = v.UUID
		}
		row := strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Type, v.Subtype+v.Message.ID, v.Message.Content))
		if v.Message.Usage != nil {
			row += " usage"
		}
		if v.IsMeta || v.IsCompactSummary {
			row += " by lathe"
		}
		rows = append(rows, row)
	}
	return rows
}

func equal(t testing.TB, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

const tool = `{"id":"%s","input":{"command":"ls"},"name":"Bash","type":"tool_use"}`

func used(id string) string { return "[" + fmt.Sprintf(tool, id) + "]" }

func result(id, text string) string {
	return fmt.Sprintf(`user  [{"content":%q,"tool_use_id":%q,"type":"tool_result"}]`, text, id)
}

func TestLinesFollowTheLog(t *testing.T) {
	log, f := begin(t)
	if err := f.Update(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Path()); err == nil {
		t.Error("there is a file without a message")
	}
	add(t, log, session.User{Message: llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "the folder", Origin: llm.OriginContext}, llm.Text{Text: "go on"},
	}}})
	equal(t, read(t, f), `user  "go on"`)

	// While the reply comes, its calls are there; the usage comes with its end, on the same lines.
	add(t, log, say(0, "I look."), call(1, "a"))
	equal(t, read(t, f), `user  "go on"`, `assistant msg_1 [{"text":"I look.","type":"text"}]`, `assistant msg_1 `+
		used("a"))
	add(t, log, session.CallStart{CallID: "a"}, end("a", "files"), call(2, "b"))
	equal(t, read(t, f), `user  "go on"`, `assistant msg_1 [{"text":"I look.","type":"text"}]`, `assistant msg_1 `+
		used("a"), result("a", "files"), `assistant msg_1 `+used("b"))
	add(t, log, reply("msg_x", 3, llm.StopToolUse))
	first := []string{
		`user  "go on"`, `assistant msg_x [{"text":"I look.","type":"text"}] usage`, `assistant msg_x ` + used("a") +
			" usage", result("a", "files"), `assistant msg_x ` + used("b") + " usage",
	}
	equal(t, read(t, f), first...)
	add(t, log, session.CallStart{CallID: "b"}, end("b", "more"),
		session.User{Message: llm.UserText("<system-reminder>x</system-reminder>"), Synthetic: true},
		say(0, "half"), say(0, "Done."), reply("msg_y", 1, llm.StopEndTurn), session.Title{Title: "A look"})
	all := append(first, result("b", "more"), `user  "<system-reminder>x</system-reminder>" by lathe`,
		`assistant msg_y [{"text":"Done.","type":"text"}] usage`, "custom-title")
	equal(t, read(t, f), all...)

	// Another process, a file that was torn or deleted: the lines are the same, to the byte.
	was, _ := os.ReadFile(f.Path())
	for _, harm := range []func() error{
		func() error { return nil },
		func() error { return os.Truncate(f.Path(), int64(len(was)/2)) },
		func() error { return os.WriteFile(f.Path(), append(was, "{\"half"...), 0o600) },
		func() error { return os.Remove(f.Path()) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		equal(t, read(t, transcript.New(log, log.ID())), all...)
		if now, _ := os.ReadFile(f.Path()); !bytes.Equal(now, was) {
			t.Errorf("the bytes differ:\n%s\n%s", now, was)
		}
	}
	if err := os.Remove(f.Path()); err != nil {
		t.Fatal(err)
	}
	equal(t, read(t, f), all...)
}

// A hook, which is given the path, puts a link there: the file that it names stays as it is.
func TestALinkInThePlaceOfTheFileIsNotFollowed(t *testing.T) {
	log, f := begin(t)
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, log, user("one"))
	read(t, f)
	for _, name := range []string{other, filepath.Join(t.TempDir(), "none")} {
		if err := os.Remove(f.Path()); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, f.Path()); err != nil {
			t.Skip(err)
		}
		add(t, log, user("two"))
		read(t, f)
		if st, err := os.Lstat(f.Path()); err != nil || !st.Mode().IsRegular() {
			t.Errorf("%v %v", st, err)
		}
	}
	if text, _ := os.ReadFile(other); string(text) != "mine" {
		t.Errorf("the other file is %q", text)
	}
}

func TestTheFieldsThatOthersRead(t *testing.T) {
	log, _ := begin(t)
	f := transcript.New(log, "main-id")
	add(t, log, user("<b>"), call(0, "a"), reply("msg_x", 1, llm.StopToolUse), session.CallStart{CallID: "a"},
		end("a", "out"))
	read(t, f)
	data, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"isSidechain":true`, `"sessionId":"main-id"`, `"agentId":"` + log.ID() + `"`, `"cwd":"/p"`,
		`"message":{"role":"user","content":"<b>"}`,
		`"stop_reason":"tool_use","usage":{"input_tokens":3,"cache_creation_input_tokens":11,"cache_read_input_tokens":7,"output_tokens":5}`, `"toolUseResult":{"stdout":"out"}`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in:\n%s", want, data)
		}
	}
}

func TestACompactionIsABoundaryAndASummary(t *testing.T) {
	log, f := begin(t)
	add(t, log, user("one"), say(0, "First."), reply("msg_1", 1, llm.StopEndTurn))
	until := log.Head()
	read(t, f)
	if err := log.Compact(t.Context(), session.Compaction{
		Level: 4, Trigger: "overflow", Until: until, TokensBefore: 900,
		Messages: []llm.Message{llm.UserText("They greeted.")},
	}); err != nil {
		t.Fatal(err)
	}
	add(t, log, user("two"))
	equal(t, read(t, f), `user  "one"`, `assistant msg_1 [{"text":"First.","type":"text"}] usage`,
		"system compact_boundary", `user  "They greeted." by lathe`, `user  "two"`)
	data, _ := os.ReadFile(f.Path())
	if !strings.Contains(string(data), `"compactMetadata":{"preTokens":900,"trigger":"auto"}`) {
		t.Errorf("%s", data)
	}
}

func TestAConversationThatWentBackHasTheLinesOfItsBranch(t *testing.T) {
	log, f := begin(t)
	add(t, log, user("one"), say(0, "First."), reply("msg_1", 1, llm.StopEndTurn))
	back := log.Head()
	add(t, log, user("two"), say(0, "Second."), reply("msg_2", 1, llm.StopEndTurn))
	if n := len(read(t, f)); n != 4 {
		t.Fatalf("%d lines", n)
	}
	if err := log.Checkout(back); err != nil {
		t.Fatal(err)
	}
	equal(t, read(t, f), `user  "one"`, `assistant msg_1 [{"text":"First.","type":"text"}] usage`)
	add(t, log, user("three"))
	equal(t, read(t, f), `user  "one"`, `assistant msg_1 [{"text":"First.","type":"text"}] usage`, `user  "three"`)

	// The same while no one looked: the file that another process finds is of the branch that was left.
	if err := log.Checkout(back); err != nil {
		t.Fatal(err)
	}
	add(t, log, user("four"))
	equal(t, read(t, transcript.New(log, log.ID())), `user  "one"`,
		`assistant msg_1 [{"text":"First.","type":"text"}] usage`, `user  "four"`)
}

// A hook waits for the lines of what came since the hook before, however long the session is.
// A process that goes on with a session does not read all of it.
func BenchmarkResume(b *testing.B) {
	log, f := begin(b)
	for i := range 5000 {
		step(b, log, i)
	}
	if err := f.Update(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := transcript.New(log, log.ID()).Update(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, steps := range []int{100, 5000} {
		b.Run(fmt.Sprint("steps=", steps), func(b *testing.B) {
			log, f := begin(b)
			for i := range steps {
				step(b, log, i)
			}
			if err := f.Update(); err != nil {
				b.Fatal(err)
			}
			took := time.Duration(0)
			for i := range b.N {
				step(b, log, steps+i)
				began := time.Now()
				if err := f.Update(); err != nil {
					b.Fatal(err)
				}
				took += time.Since(began)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/update")
		})
	}
}

func step(b testing.TB, log *session.Session, i int) {
	id := fmt.Sprint("c", i)
	if i == 0 {
		add(b, log, user("go"))
	}
	add(b, log, call(0, id), reply("msg", 1, llm.StopToolUse), session.CallStart{CallID: id},
		end(id, strings.Repeat(id, 500)))
}
