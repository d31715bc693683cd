package conversation_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

// smallDisk mounts a file system of 256 kB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill takes all room and returns a function that frees it.
func fill(t *testing.T, dir string) func() {
	t.Helper()
	path := filepath.Join(dir, "filler")
	err := os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<20), 0o600)
	if err == nil {
		t.Fatal("a full disk took everything")
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullDiskKeepsTheTurnInMemoryAndRefusesEffects(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Text("First.")),
		llmtest.Say(llmtest.Text(strings.Repeat("long ", 2000)),
			llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
		llmtest.Say(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/a.txt", "old_string": "one",
			"new_string": "two",
		})),
		llmtest.Say(llmtest.Text("I tell the user.")),
		llmtest.Say(llmtest.Text("Last.")),
	))
	p.write(t, "a.txt", "one\n")
	disk := smallDisk(t)
	p.vars = append(p.vars, "XDG_DATA_HOME="+disk)
	inst := p.open(t, func(o *conversation.Options) { o.Mode = permission.AcceptEdits })
	s := newSession(t, inst, conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("begin")); err != nil {
		t.Fatal(err)
	}
	free := fill(t, disk)
	sub := s.Subscribe(t.Context())
	end, err := s.Prompt(t.Context(), llm.UserText("read and edit"))
	if err != nil || end.Reason != event.EndCompleted || p.read(t, "a.txt") != "one\n" {
		t.Fatalf("%+v %v, the file: %q", end, err, p.read(t, "a.txt"))
	}
	free()
	if _, err := s.Prompt(t.Context(), llm.UserText("go on")); err != nil {
		t.Fatal(err)
	}
	checkDiskNotices(t, s, sub)
	want := texts(s.Messages())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := inst.Store().Open(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := texts(again.Messages()); got != want || !strings.Contains(got, "the disk is full") ||
		len(again.Notes()) > 0 {
		t.Errorf("kept: %s\nsaid: %s\nnotes: %q", got, want, again.Notes())
	}
}

// checkDiskNotices wants one warning when the disk became full, and one word when there was room again.
func checkDiskNotices(t *testing.T, s *conversation.Session, sub *event.Subscription) {
	t.Helper()
	s.Publish(event.Notice{Text: "over"})
	var told []string
	for e := range sub.All(t.Context()) {
		n, ok := e.Body.(event.Notice)
		if ok && n.Text == "over" {
			break
		}
		if ok {
			told = append(told, n.Level)
		}
	}
	if got := strings.Join(told, " "); got != "warning info" {
		t.Errorf("notices: %q", got)
	}
}

func texts(msgs []llm.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, part := range m.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				b.WriteString(r.PlainText())
			}
		}
		b.WriteString(m.PlainText() + "|")
	}
	return b.String()
}
