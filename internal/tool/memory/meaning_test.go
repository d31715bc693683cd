package memory

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// concepts gives texts with words of one meaning the same direction, and all others one of their own.
func concepts(text string) []float32 {
	out := make([]float32, 1<<12)
	h := fnv.New32a()
	h.Write([]byte(text))
	out[3+h.Sum32()%(1<<12-3)] = 0.01
	for i, words := range [][]string{{"database", "postgres"}, {"release", "ship"}, {"colour", "palette"}} {
		for _, w := range words {
			if strings.Contains(strings.ToLower(text), w) {
				out[i]++
			}
		}
	}
	return out
}

// embedder counts the texts that it is asked for.
type embedder struct {
	asked [][]string
	give  func(texts []string) ([][]float32, error) // nil: concepts
}

func (e *embedder) meaning() Meaning {
	return Meaning{Model: "test", Least: 0.5, Embed: func(_ context.Context, texts []string) ([][]float32, error) {
		e.asked = append(e.asked, slices.Clone(texts))
		if e.give != nil {
			return e.give(texts)
		}
		var out [][]float32
		for _, text := range texts {
			out = append(out, concepts(text))
		}
		return out, nil
	}}
}

func (e *embedder) names(t *testing.T, s *Store, prompt string) string {
	t.Helper()
	found, err := s.RecallNear(t.Context(), prompt, e.meaning(), func(Note) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, n := range found {
		out = append(out, n.Name)
	}
	return strings.Join(out, " ")
}

func TestNotesAreFoundByMeaning(t *testing.T) {
	s, e := newStore(t), &embedder{}
	save(t, s, "test-database", "starting the database for tests", "Run make db first.")
	save(t, s, "releases", "how a release is made", "Tag with make release.")
	save(t, s, "parseConfig", "the quirk of parseConfig in config.go", "It drops unknown keys.")
	for prompt, want := range map[string]string{
		"postgres does not answer": "test-database",
		"ship it":                  "releases",
		"rename Foo":               "",
		"why does parseConfig in config.go drop this": "parseconfig", // by words
		"postgres, and the quirk of parseConfig":      "test-database parseconfig",
	} {
		if got := e.names(t, s, prompt); got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
	if got, err := s.RecallNear(t.Context(), "ship it", e.meaning(),
		func(n Note) bool { return n.Name == "releases" }); err != nil || len(got) > 0 {
		t.Errorf("given twice: %v %v", got, err)
	}
}

// Vectors of notes are asked for once, by another process too, until the note changes.
func TestVectorsAreKeptUntilTheNoteChanges(t *testing.T) {
	s, e := newStore(t), &embedder{}
	save(t, s, "a", "about the database", "one")
	save(t, s, "b", "about a release", "two")
	texts := func() (n []int) {
		for _, asked := range e.asked {
			n = append(n, len(asked))
		}
		e.asked = nil
		return n
	}
	e.names(t, s, "postgres")
	e.names(t, Open(s.Dir()), "ship")
	save(t, s, "b", "about a release", "three")
	e.names(t, s, "ship")
	if _, err := s.Forget("a"); err != nil {
		t.Fatal(err)
	}
	save(t, s, "b", "about a release", "four")
	e.names(t, s, "ship")
	if d := cmp.Diff([]int{3, 1, 2, 2}, texts()); d != "" {
		t.Error(d)
	}
	kept, err := filepath.Glob(filepath.Join(s.Dir(), vectorDir, "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q %v", kept, err)
	}
	if err := os.WriteFile(kept[0], []byte("torn"+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := e.names(t, s, "ship"); got != "b" || len(e.asked[0]) != 2 {
		t.Errorf("after damage: %q %q", got, e.asked)
	}
	if notes, problems := s.List(); len(notes) != 1 || len(problems) > 0 {
		t.Errorf("vectors are listed as notes: %v %v", notes, problems)
	}
}

func TestManyNotesAreAskedForInBatches(t *testing.T) {
	s, e := newStore(t), &embedder{}
	save(t, s, "first", "about the database", "one")
	for i := range embedOnce + 6 {
		note := fmt.Sprintf("---\ndescription: about a release\n---\n%d", i)
		if err := os.WriteFile(filepath.Join(s.Dir(), fmt.Sprintf("n%d.md", i)), []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.names(t, s, "ship")
	notes, _ := s.List()
	sum := 0
	for _, asked := range e.asked {
		if sum += len(asked); len(asked) > embedOnce {
			t.Errorf("%d texts at once", len(asked))
		}
	}
	if sum != len(notes)+1 {
		t.Errorf("%d texts for %d notes", sum, len(notes))
	}
}

// A model's bad answers are errors or find nothing; they never crash, and nothing of a failed request is kept.
func TestBadVectorsFindNothing(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, give := range map[string]func([]string) ([][]float32, error){
		"too few":  func(texts []string) ([][]float32, error) { return make([][]float32, len(texts)-1), nil },
		"none":     func([]string) ([][]float32, error) { return nil, nil },
		"an error": func([]string) ([][]float32, error) { return nil, errors.New("refused") },
	} {
		s, e := newStore(t), &embedder{give: give}
		save(t, s, "a", "about the database", "one")
		if _, err := s.RecallNear(t.Context(), "postgres", e.meaning(), func(Note) bool { return false }); err == nil {
			t.Errorf("%s: no error", name)
		}
		if kept, _ := filepath.Glob(filepath.Join(s.Dir(), vectorDir, "*")); len(kept) > 0 {
			t.Errorf("%s: kept %q", name, kept)
		}
	}
	for name, vectors := range map[string][2][]float32{
		"zero": {{0, 0}, {0, 0}}, "NaN": {{nan, 1}, {1, 1}}, "infinite": {{inf, 1}, {inf, 1}},
		"lengths": {{1, 1, 1}, {1, 1}}, "empty": {{}, {}},
	} {
		s := newStore(t)
		e := &embedder{give: func(texts []string) ([][]float32, error) { return vectors[:len(texts)], nil }}
		save(t, s, "a", "about the database", "one")
		if got := e.names(t, s, "postgres"); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
