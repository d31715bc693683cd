package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestSessionRedactMasksTheSubagentsToo(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	store := session.NewStore(filepath.Join(data, "lathe"))
	make := func(m session.Meta, text string) *session.Session {
		s, err := store.Create(t.Context(), m)
		if err == nil {
			err = s.AddUser(t.Context(), llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{Text: text}}}, false, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	parent := make(session.Meta{Dir: dir}, "the value horse-battery and the line correct-staple")
	child := make(session.Meta{Dir: dir, Parent: parent.ID(), Agent: "general", Call: "c1"}, "horse-battery again")
	for _, s := range []*session.Session{parent, child} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(buildLathe(t), "session", "redact", parent.ID(), "--values", "-")
	c.Dir, c.Stdin = dir, strings.NewReader("PASS_PHRASE='correct-staple'\n")
	c.Env = []string{"HOME=" + t.TempDir(), "XDG_DATA_HOME=" + data, "MY_TOKEN=horse-battery", "PATH=" + os.Getenv("PATH")}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), parent.ID()+": secrets masked in 1 line of its log and 0 blobs") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, s := range []*session.Session{parent, child} {
		b, err := os.ReadFile(s.Path())
		if err != nil || strings.Contains(string(b), "horse") || strings.Contains(string(b), "staple") ||
			!strings.Contains(string(b), "[masked]") {
			t.Errorf("%v: %s", err, b)
		}
		if r, err := store.Verify(s.ID()); err != nil || !r.OK() {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
