package conversation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

const changedHead = "Files that changed since you saw them"

// newestText is the text of the newest message of the user in the last request.
func newestText(t *testing.T, p *place) string {
	t.Helper()
	all := p.srv.Requests()
	body := string(all[len(all)-1].Body)
	return body[strings.LastIndex(body, `"role":"user"`):]
}

func say(t *testing.T, s *conversation.Session, text string) {
	t.Helper()
	if _, err := s.Prompt(t.Context(), llm.UserText(text)); err != nil {
		t.Fatal(err)
	}
}

func readCall(name string) llmtest.Part {
	return llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/" + name})
}

func TestFilesThatOthersChangedAreAnnouncedOnceAtTheNextMessage(t *testing.T) {
	done := llmtest.Say(llmtest.Text("Done."))
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(readCall("mine.txt"), readCall("users.txt"), readCall("gone.txt"), readCall("touched.txt"),
			readCall("built.txt")),
		llmtest.Say(
			llmtest.Tool("Edit", map[string]any{"file_path": "${WORKDIR}/mine.txt", "old_string": "one", "new_string": "two"}),
			llmtest.Tool("Bash", map[string]any{"command": "echo new > built.txt"})),
		done, done, done, done,
	))
	for _, name := range []string{"mine.txt", "users.txt", "gone.txt", "touched.txt", "built.txt", "unread.txt"} {
		p.write(t, name, "one "+name+"\n")
	}
	i := p.open(t, func(o *conversation.Options) { o.Allowed = []string{"Edit", "Bash"} })
	s := newSession(t, i, conversation.SessionOptions{})
	say(t, s, "work")
	if got := p.read(t, "built.txt"); got != "new\n" {
		t.Fatalf("the command did not run: %q", got)
	}
	say(t, s, "anything new?")
	if got := newestText(t, p); strings.Contains(got, changedHead) {
		t.Errorf("changes of the agent are announced: %s", got)
	}
	p.write(t, "users.txt", "two users.txt\n")
	p.write(t, "unread.txt", "two\n")
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(p.dir, "touched.txt"), now, now); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	say(t, s, "and now?")
	got := newestText(t, p)
	for _, want := range []string{changedHead, `\n  users.txt\n`, `\n  gone.txt (removed)\n`, "read them again"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	for _, absent := range []string{"mine.txt", "built.txt", "touched.txt", "unread.txt"} {
		if strings.Contains(got, absent) {
			t.Errorf("%q is in %s", absent, got)
		}
	}
	say(t, s, "again?")
	if got := newestText(t, p); strings.Contains(got, changedHead) {
		t.Errorf("the same change is announced twice: %s", got)
	}
}

func TestFilesThatChangedWhileTheAgentWorkedWithoutCommandsAreAnnounced(t *testing.T) {
	done := llmtest.Say(llmtest.Text("Done."))
	slow := llmtest.Reply{
		Parts:     []llmtest.Part{llmtest.Text("Done.")},
		FirstByte: llmtest.Duration(200 * time.Millisecond),
	}
	p := newPlace(t, llmtest.Replies(llmtest.Say(readCall("a.txt")), slow, done))
	p.write(t, "a.txt", "one\n")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	end := make(chan error, 1)
	go func() { _, err := s.Prompt(t.Context(), llm.UserText("work")); end <- err }()
	firstOf[event.ToolEnd](t, sub)
	p.write(t, "a.txt", "two\n")
	if err := <-end; err != nil {
		t.Fatal(err)
	}
	say(t, s, "and now?")
	if got := newestText(t, p); !strings.Contains(got, `\n  a.txt\n`) {
		t.Errorf("got %s", got)
	}
}

func TestFilesThatChangedBetweenTwoRunsAreAnnounced(t *testing.T) {
	done := llmtest.Say(llmtest.Text("Done."))
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(readCall("a.txt"), readCall("b.txt")),
		llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "echo new > b.txt"})),
		done, done, done))
	p.write(t, "a.txt", "one\n")
	p.write(t, "b.txt", "one\n")
	i := p.open(t, func(o *conversation.Options) { o.Allowed = []string{"Bash"} })
	s := newSession(t, i, conversation.SessionOptions{})
	say(t, s, "work")
	id := s.ID()
	again := func() *conversation.Session {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return newSession(t, i, conversation.SessionOptions{Resume: id})
	}
	s = again()
	ended := time.Now()
	if !await.Until(func() bool { // the times of files lag behind the clock by a tick
		p.write(t, "a.txt", "two\n")
		info, err := os.Stat(filepath.Join(p.dir, "a.txt"))
		return err == nil && info.ModTime().After(ended)
	}) {
		t.Fatal("a file that was just written stays older than the session")
	}
	say(t, s, "and now?")
	if got := newestText(t, p); !strings.Contains(got, `\n  a.txt\n`) || strings.Contains(got, "b.txt") {
		t.Errorf("got %s", got)
	}
	s = again()
	say(t, s, "again?")
	if got := newestText(t, p); strings.Contains(got, changedHead) {
		t.Errorf("got %s", got)
	}
}
