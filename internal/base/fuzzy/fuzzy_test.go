package fuzzy_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

func TestTheBestPathComesFirst(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  []string // in this order
	}{
		{"main", []string{"cmd/main.go", "src/domain/x.go"}},
		{"main", []string{"main.go", "cmd/main.go", "domain.go"}},
		{"edi", []string{"internal/tui/editor/editor.go", "internal/tui/editor/undo.go"}},
		{"ft", []string{"fuzzy_test.go", "raft.go"}},
		{"FT", []string{"FileTree.java", "aft.java"}},
		{"tuied", []string{"internal/tui/editor/doc.go", "internal/thing/under/ie/d.go"}},
		{"tui/ed", []string{"internal/tui/editor/", "internal/tui/line/edge.go"}},
		{"view edit", []string{"tui/editor/view.go", "old/view_of_the_creditor.go"}},
		{"readme", []string{"README.md", "docs/readme-first.md"}},
		{"go.mod", []string{"go.mod", "internal/llm/sdkcheck/go.mod", "go_modules.txt.md"}},
		{"größe", []string{"docs/Größe.md", "docs/größere.md"}},
	} {
		m := fuzzy.New(tt.query)
		scores := map[string]int{}
		for _, p := range tt.want {
			score, ok := m.Path(p)
			scores[p] = score
			if !ok && p != tt.want[len(tt.want)-1] {
				t.Errorf("%q does not match %q", tt.query, p)
			} else if !ok {
				scores[p] = -1 << 30
			}
		}
		if !slices.IsSortedFunc(tt.want, func(a, b string) int { return scores[b] - scores[a] }) {
			t.Errorf("%q: %v", tt.query, scores)
		}
	}
}

func TestMarksAreTheLettersThatCount(t *testing.T) {
	for _, tt := range []struct{ query, path, want string }{
		{"main", "domain/main.go", "       ^^^^   "},
		{"fyt", "fuzzy_test.go", "^   ^ ^      "},
		{"edview", "tui/editor/view.go", "    ^^     ^^^^   "},
		{"view edit", "tui/editor/view.go", "    ^^^^   ^^^^   "},
		{"ö", "Größe/Öl", "      ^ "},
		{"zz", "abc", ""},
		{"", "abc", ""},
	} {
		var got []byte
		if marks := fuzzy.New(tt.query).PathMarks(tt.path); marks != nil {
			got = []byte(strings.Repeat(" ", len([]rune(tt.path))))
			for _, i := range marks {
				got[i] = '^'
			}
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%q in %q:\n%s", tt.query, tt.path, diff)
		}
	}
}

func TestALongTextMatchesByRuns(t *testing.T) {
	long := strings.Repeat("word ", 2000) + "needle" + strings.Repeat(" more", 2000)
	marks := fuzzy.New("needle").Marks(long)
	if len(marks) != 6 || marks[0] != 10000 {
		t.Errorf("marks %v", marks)
	}
	if _, ok := fuzzy.New("nxeedle").Score(long); ok {
		t.Error("letters far apart match")
	}
}

func TestRankKeepsTheOrderOfEqualsAndTheLimit(t *testing.T) {
	items := []string{"beta", "alpha", "gamma", "delta"}
	var got []int
	for _, f := range fuzzy.Rank("", items, 3, nil) {
		got = append(got, f.Index)
	}
	if diff := cmp.Diff([]int{0, 1, 2}, got); diff != "" {
		t.Error(diff)
	}
	if f := fuzzy.Rank("", items, 1, func(i int) int { return i }); f[0].Index != 3 {
		t.Errorf("the bonus does not count: %v", f)
	}
}

// contains defines matching simply.
func contains(query, text string) bool {
	for term := range strings.FieldsSeq(strings.ToLower(query)) {
		rest := []rune(term)
		for _, r := range text {
			if len(rest) > 0 && unicode.ToLower(r) == rest[0] {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			return false
		}
	}
	return true
}

func TestATextMatchesWhenItHasTheLettersInOrder(t *testing.T) {
	letters := rapid.SampledFrom([]rune("abcABC/_-. äÄß世"))
	rapid.Check(t, func(t *rapid.T) {
		query := rapid.StringOfN(letters, 0, 5, -1).Draw(t, "query")
		text := rapid.StringOfN(letters, 0, 20, -1).Draw(t, "text")
		m := fuzzy.New(query)
		_, ok := m.Path(text)
		if want := contains(query, text); ok != want {
			t.Fatalf("%q in %q: %t, want %t", query, text, ok, want)
		}
		if ok && m.Mask()&^fuzzy.Mask(text) != 0 {
			t.Fatalf("the mask of %q excludes %q", query, text)
		}
		if dir, name := text[:strings.LastIndexByte(text, '/')+1], text[strings.LastIndexByte(text, '/')+1:]; ok &&
			name != "" {
			if score, _ := m.PathIn(dir, name); score > m.Limit(len(dir), len(name)) {
				t.Fatalf("%q in %q is worth %d, above the limit of %d", query, text, score, m.Limit(len(dir), len(name)))
			}
		}
		marks, runes := m.PathMarks(text), []rune(text)
		if !slices.IsSorted(marks) {
			t.Fatalf("marks %v", marks)
		}
		for _, i := range marks {
			if !strings.ContainsRune(strings.ToLower(query), unicode.ToLower(runes[i])) {
				t.Fatalf("%q in %q marks %q", query, text, runes[i])
			}
		}
		if terms := strings.Fields(query); ok && len(terms) == 1 && len(marks) != len([]rune(terms[0])) {
			t.Fatalf("%q in %q marks %v", query, text, marks)
		}
	})
}

func BenchmarkPath(b *testing.B) {
	paths := []string{
		"internal/tui/editor/editor_test.go", "internal/session/export_markdown.go", "cmd/lathe/main.go",
		"docs/configuration.md",
	}
	m := fuzzy.New("edit")
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range paths {
			m.Path(p)
		}
	}
}
