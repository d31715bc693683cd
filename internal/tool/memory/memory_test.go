package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func newStore(t *testing.T) *Store {
	s := Open(filepath.Join(t.TempDir(), "memory"))
	s.now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	return s
}

func save(t *testing.T, s *Store, name, description, text string) Note {
	t.Helper()
	n, _, err := s.Save(Note{Name: name, Description: description, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func index(t *testing.T, s *Store) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Dir(), IndexName))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestANoteIsKeptListedAndForgotten(t *testing.T) {
	s := newStore(t)
	n, replaced, err := s.Save(Note{
		Name: "  Test Database! ", Description: "how: to \"start\"\nit", Type: "project",
		Text: "Run make db first.\n",
	})
	if err != nil || replaced || n.Name != "test-database" {
		t.Fatalf("%+v %v %v", n, replaced, err)
	}
	got, err := s.Get("Test Database")
	if err != nil || got != n || got.Description != `how: to "start" it` {
		t.Errorf("%+v %v, want %+v", got, err, n)
	}
	if want := "- [test-database](test-database.md) (2026-03-04): how: to \"start\" it\n"; index(t, s) != want {
		t.Errorf("%q", index(t, s))
	}
	n.Text = "Run make db-up first, then wait for port 5432 to answer."
	if _, replaced, err := s.Save(n); err != nil || !replaced {
		t.Error(replaced, err)
	}
	if _, err := s.Forget("test-database"); err != nil {
		t.Error(err)
	}
	if notes, problems := s.List(); len(notes) != 0 || len(problems) != 0 {
		t.Errorf("%v %v", notes, problems)
	}
	if _, err := os.Stat(filepath.Join(s.Dir(), IndexName)); !os.IsNotExist(err) {
		t.Errorf("the index is still there: %v", err)
	}
}

func TestTheSameIsNotKeptTwice(t *testing.T) {
	s := newStore(t)
	save(t, s, "db", "database", "Start the database with make db before the tests of the store package.")
	_, _, err := s.Save(Note{
		Name: "other", Description: "x",
		Text: "Before the tests of the package store, start the database with make db!",
	})
	if err == nil || !strings.Contains(err.Error(), `"db"`) {
		t.Errorf("%v", err)
	}
	save(t, s, "lint", "linter", "Run golangci-lint with the config of the repository.")
}

func TestLinesOfPeopleStayInTheIndex(t *testing.T) {
	s := newStore(t)
	save(t, s, "a", "first", "alpha beta")
	own := "# My notes\n\nNever push on Fridays.\n" + index(t, s)
	if err := os.WriteFile(filepath.Join(s.Dir(), IndexName), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	save(t, s, "b", "second", "gamma delta")
	if want := "# My notes\n\nNever push on Fridays.\n\n- [a](a.md) (2026-03-04): first\n- [b](b.md) (2026-03-04): " +
		"second\n"; index(t, s) != want {
		t.Errorf("%q", index(t, s))
	}
}

func TestNotesThatCannotBeKeptAreRefused(t *testing.T) {
	s := newStore(t)
	for name, n := range map[string]Note{
		"needs a name":        {Name: "../..", Description: "d", Text: "t"},
		"needs a name of":     {Name: "memory.md", Description: "d", Text: "t"},
		"no text":             {Name: "a", Description: "d", Text: " \n"},
		"needs a description": {Name: "a", Text: "t"},
		"characters; 8000":    {Name: "a", Description: "d", Text: strings.Repeat("x", maxText+1)},
		"no type":             {Name: "a", Description: "d", Text: "t", Type: "secret"},
	} {
		if _, _, err := s.Save(n); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Error("something was written")
	}
}

func TestHostileFilesAreLeftOutAndNamed(t *testing.T) {
	s := newStore(t)
	save(t, s, "good", "a good one", "text")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(s.Dir(), "link.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), "huge.md"), make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	notes, problems := s.List()
	if len(notes) != 1 || notes[0].Name != "good" || len(problems) != 1 || !strings.Contains(problems[0], "huge.md") {
		t.Errorf("%v %v", notes, problems)
	}
	if _, err := s.Get("link"); err == nil {
		t.Error("a link was followed")
	}
}

func TestNotesComeBackWhereThePromptIsAboutThem(t *testing.T) {
	s := newStore(t)
	save(t, s, "release-process", "how releases are tagged and published",
		"Tag with make release, never by hand; the pipeline publishes the binaries.")
	save(t, s, "test-database", "starting the database for tests", "Run make db before go test ./internal/store.")
	save(t, s, "style", "how the user likes answers", "Short answers, no lists.")
	never := func(Note) bool { return false }
	for prompt, want := range map[string]string{
		"the store tests fail, is the database running?": "test-database",
		"please prepare the releases, tagged and all":    "release-process",
		"rename the function Foo":                        "",
		"how":                                            "",
		"tests":                                          "",
		"why does the pipeline not tag the binaries by hand": "release-process",
	} {
		got := ""
		for _, n := range s.Recall(prompt, never) {
			got += n.Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
	if got := s.Recall("is the test database running?", func(n Note) bool { return n.Name == "test-database" }); len(
		got) != 0 {
		t.Errorf("given twice: %v", got)
	}
}

func TestWritersBesideEachOtherLoseNothing(t *testing.T) {
	s := newStore(t)
	done := make(chan error)
	for i := range 20 {
		other := Open(s.Dir())
		go func() {
			_, _, err := other.Save(Note{Name: fmt.Sprintf("n%d", i), Description: "d", Text: fmt.Sprintf("text%d word%d", i,
				i)})
			done <- err
		}()
	}
	for range 20 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	save(t, s, "last", "d", "the end")
	if notes, _ := s.List(); len(notes) != 21 || strings.Count(index(t, s), "\n") != 21 {
		t.Errorf("%d notes, index:\n%s", len(notes), index(t, s))
	}
}
