package session_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

const (
	literal = `my "quoted" pass`
	shaped  = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
)

// withSecrets makes a session whose log, blobs and set-aside lines hold secrets. It returns its blob with a secret and
// one without.
func withSecrets(t *testing.T, store *session.Store) (s *session.Session, secret, plain string) {
	t.Helper()
	s, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	secret, err = s.Blob(t.Context(), "out.txt", []byte("first\n"+shaped+"\nlast "+literal+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err = s.Blob(t.Context(), "out.txt", []byte("nothing here\n")); err != nil {
		t.Fatal(err)
	}
	msg := llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{Text: "use " + literal + " and " + shaped + ", see " +
		secret}}}
	if err := s.AddUser(t.Context(), msg, false, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), session.Note{Text: "no secret"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Path()), "log.torn-1"), []byte(`{"id":"9","text":"`+shaped),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Folder(), "plan.md"), []byte("# Plan\nuse "+shaped+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Folder(), "transcript.jsonl"), []byte(`{"type":"user","message":"`+shaped+
		"\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, secret, plain
}

// noSecrets fails if a file of the session holds a secret, or if the session is damaged.
func noSecrets(t *testing.T, store *session.Store, id, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(shaped)) || bytes.Contains(b, []byte("quoted")) {
			t.Errorf("%s holds a secret: %s", path, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := store.Verify(id); err != nil || !r.OK() {
		t.Errorf("the session is damaged: %+v, %v", r, err)
	}
}

func TestRedactMasksLogBlobsAndTornLines(t *testing.T) {
	store := session.NewStore(t.TempDir())
	s, secret, plain := withSecrets(t, store)
	id, folder := s.ID(), filepath.Dir(s.Path())
	mask := event.NewMasker(literal)
	if _, err := store.Redact(t.Context(), id, mask); !errors.As(err, new(*session.LockedError)) {
		t.Fatalf("an open session: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := store.Redact(t.Context(), id, mask)
	if err != nil || got.Blobs != 1 || got.Lines != 3 { // the message, the entry of the blob, the torn line
		t.Fatalf("got %+v, %v", got, err)
	}
	noSecrets(t, store, id, folder)
	if b, err := os.ReadFile(plain); err != nil || string(b) != "nothing here\n" {
		t.Errorf("a blob without secrets: %q, %v", b, err)
	}
	again, err := store.Redact(t.Context(), id, mask)
	if err != nil || again.Blobs != 0 || again.Lines != 0 {
		t.Errorf("the second time: %+v, %v", again, err)
	}
	open, err := store.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	text := open.Messages()[0].Parts[0].(llm.Text).Text
	if want := "use [masked] and [masked], see " + secret; text != want {
		t.Errorf("the message is %q, want %q", text, want)
	}
	if err := open.AddUser(t.Context(), llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{Text: "go on"}}}, false,
		false); err != nil {
		t.Errorf("it cannot be continued: %v", err)
	}
}

// wordMask takes a word of the log's own form for a secret, where it masks whole entries.
type wordMask struct{ *event.Masker }

func (w wordMask) MaskJSON(value []byte) []byte {
	return bytes.ReplaceAll(value, []byte(`"kind":"`), []byte(`"kind":"masked-`))
}

// A secret that is also a word of the log's form must not take an entry out of its place: its texts are masked one by
// one.
func TestRedactKeepsTheFormOfAnEntry(t *testing.T) {
	store := session.NewStore(t.TempDir())
	s, _, _ := withSecrets(t, store)
	id, folder := s.ID(), filepath.Dir(s.Path())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Redact(t.Context(), id, wordMask{event.NewMasker(literal)}); err != nil {
		t.Fatal(err)
	}
	noSecrets(t, store, id, folder)
	open, err := store.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if text := open.Messages()[0].Parts[0].(llm.Text).Text; !strings.HasPrefix(text, "use [masked] and [masked], see ") {
		t.Errorf("the message is %q", text)
	}
}

// TestRedactSurvivesAKill kills the process while it masks, at different places, and lets the next one complete it.
func TestRedactSurvivesAKill(t *testing.T) {
	if home := os.Getenv("REDACT_HOME"); home != "" {
		store := session.NewStore(home)
		left := len(os.Getenv("REDACT_AFTER"))
		_, _ = store.Redact(t.Context(), os.Getenv("REDACT_ID"), killer{event.NewMasker(literal), &left})
		os.Exit(3)
	}
	killed := 0
	for after := 1; after < 12; after++ {
		home := t.TempDir()
		store := session.NewStore(home)
		s, _, _ := withSecrets(t, store)
		id, folder := s.ID(), filepath.Dir(s.Path())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestRedactSurvivesAKill$")
		cmd.Env = append(os.Environ(), "REDACT_HOME="+home, "REDACT_ID="+id, "REDACT_AFTER="+strings.Repeat("x", after))
		_ = cmd.Run()
		if cmd.ProcessState.ExitCode() != 3 {
			killed++
		}
		open, err := store.OpenReadOnly(id)
		if err != nil || len(open.Messages()) != 1 {
			t.Fatalf("killed at %d: it cannot be read: %v", after, err)
		}
		open.Close()
		if _, err := store.Redact(t.Context(), id, event.NewMasker(literal)); err != nil {
			t.Fatal(err)
		}
		noSecrets(t, store, id, folder)
	}
	if killed < 5 {
		t.Errorf("only %d of the processes were killed", killed)
	}
}

// killer kills its own process when so many texts were masked.
type killer struct {
	*event.Masker
	left *int
}

func (k killer) count() {
	if *k.left--; *k.left == 0 {
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill()
		}
		select {}
	}
}

func (k killer) Mask(text string) string { k.count(); return k.Masker.Mask(text) }

func (k killer) MaskJSON(b []byte) []byte { k.count(); return k.Masker.MaskJSON(b) }
