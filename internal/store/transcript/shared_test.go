package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/transcript"
)

func beginShared(t *testing.T) (*session.Session, *transcript.Shared) {
	t.Helper()
	log, _ := begin(t)
	return log, share(t, log, transcript.SharedPath(t.TempDir(), "/p/a.b", log.ID(), ""))
}

func share(t *testing.T, log *session.Session, path string) *transcript.Shared {
	t.Helper()
	s, err := transcript.NewShared(log, log.ID(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sharedLines updates the file and reads its lines.
func sharedLines(t *testing.T, s *transcript.Shared) (out []map[string]any) {
	t.Helper()
	if err := s.Update(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(data)) {
		var l map[string]any
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		out = append(out, l)
	}
	return out
}

func typesOf(lines []map[string]any) string {
	var out []string
	for _, l := range lines {
		out = append(out, l["type"].(string))
	}
	return strings.Join(out, " ")
}

const hostID = "0190aaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

func TestASharedTranscriptGrowsWithTheLog(t *testing.T) {
	log, s := beginShared(t)
	if got := filepath.Base(filepath.Dir(s.Path())); got != "-p-a-b" {
		t.Errorf("the folder is %s", got)
	}
	first := llm.UserText("first")
	first.ID = hostID
	add(t, log, session.User{Message: first}, say(0, "half"))
	if lines := sharedLines(t, s); typesOf(lines) != "user" || lines[0]["uuid"] != hostID {
		t.Errorf("an open reply is in the file, or the host's id is not: %v", lines)
	}
	add(t, log, call(1, "c"), end("c", "out"), reply("r", 2, llm.StopToolUse))
	lines := sharedLines(t, s)
	if typesOf(lines) != "user assistant assistant user" || lines[1]["uuid"] != transcript.LineID("r", 0) {
		t.Errorf("lines: %v", lines)
	}
	if parent := lines[3]["parentUuid"]; parent != lines[2]["uuid"] {
		t.Errorf("the result follows %v", parent)
	}
	again := sharedLines(t, share(t, log, s.Path()))
	if len(again) != len(lines) {
		t.Errorf("another process wrote lines twice: %v", again)
	}
	add(t, log, say(0, "same id"), reply("r", 1, llm.StopEndTurn))
	if lines = sharedLines(t, share(t, log, s.Path())); len(lines) != 5 || lines[4]["uuid"] == lines[1]["uuid"] {
		t.Errorf("a server's id for two replies: %v", lines)
	}
}

func TestASharedTranscriptKeepsWhatOthersWrite(t *testing.T) {
	log, s := beginShared(t)
	add(t, log, user("first"), say(0, "one"), reply("r1", 1, llm.StopEndTurn), session.Title{Title: "mine"})
	sharedLines(t, s)
	if share(t, log, s.Path()).Title() != "" {
		t.Error("the log's own title is a new one")
	}
	file, err := os.OpenFile(s.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := `{"type":"custom-title","customTitle":"theirs"}` + "\n" + `{"type":"tag","tag":"red"}` + "\n"
	if _, err := file.WriteString(theirs); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	s = share(t, log, s.Path())
	if s.Title() != "theirs" {
		t.Errorf("the title is %q", s.Title())
	}
	add(t, log, session.Title{Title: "theirs"}, user("second"))
	if lines := sharedLines(t, s); typesOf(lines) != "user assistant custom-title custom-title tag user" {
		t.Errorf("lines: %s", typesOf(lines))
	}
}

func TestASessionIsMadeOfATranscript(t *testing.T) {
	log, s := beginShared(t)
	add(t, log, user("first"), say(0, "look"), call(1, "c"), end("c", "out"), reply("r1", 2, llm.StopToolUse),
		say(0, "done"), reply("r2", 1, llm.StopEndTurn))
	before := sharedLines(t, s)
	store, id := session.NewStore(t.TempDir()), session.NewID()
	copied := filepath.Join(filepath.Dir(s.Path()), id+".jsonl")
	data, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := transcript.Import(t.Context(), store, session.Meta{Dir: "/p/a.b", ID: id}, copied); err != nil {
		t.Fatal(err)
	}
	made, err := store.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	text := func(l *session.Session) (out []string) {
		for _, m := range l.Messages() {
			out = append(out, string(m.Role)+" "+m.PlainText())
		}
		return out
	}
	if !slices.Equal(text(made), text(log)) {
		t.Errorf("the copy holds %q, the session %q", text(made), text(log))
	}
	add(t, made, user("more"))
	if lines := sharedLines(t, share(t, made, copied)); len(lines) != len(before)+1 ||
		lines[len(before)]["parentUuid"] != before[len(before)-1]["uuid"] {
		t.Errorf("the copy does not go on from its last line: %v", lines[len(before):])
	}
	if transcript.Deleted(made.Folder(), copied) {
		t.Error("it is deleted")
	}
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	if !transcript.Deleted(made.Folder(), copied) {
		t.Error("its deletion is not seen")
	}
}
