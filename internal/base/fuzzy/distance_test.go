package fuzzy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

func TestDistanceCountsEditsOfLettersAndSwapsOnce(t *testing.T) {
	for _, tt := range []struct {
		a, b        string
		limit, want int
	}{
		{"model", "model", 3, 0},
		{"modle", "model", 3, 1},
		{"", "abc", 5, 3},
		{"kitten", "sitting", 9, 3},
		{"session", "sesion", 3, 1},
		{"größe", "grosse", 9, 3},
		{"größe", "größ", 9, 1},
		{"ca", "abc", 9, 3}, // no letter is edited twice
		{"kitten", "sitting", 2, 3},
		{"kitten", "sitting", 3, 3},
		{"abcdef", "uvwxyz", 2, 3},
		{"a", "abcdefgh", 3, 4},
		{"a", "a", 0, 0},
		{"a", "b", 0, 1},
		{"a", "a", -1, 0},
	} {
		if got := fuzzy.Distance(tt.a, tt.b, tt.limit); got != tt.want {
			t.Errorf("Distance(%q, %q, %d) = %d, want %d", tt.a, tt.b, tt.limit, got, tt.want)
		}
	}
}

// The whole table, without a limit, from the definition.
func plainDistance(a, b []rune) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			same := 0
			if a[i-1] != b[j-1] {
				same = 1
			}
			d := min(table[i-1][j]+1, table[i][j-1]+1, table[i-1][j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, table[i-2][j-2]+1)
			}
			table[i][j] = d
		}
	}
	return table[len(a)][len(b)]
}

func TestDistanceWithinALimitIsTheDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.SampledFrom([]rune("abcß")), 0, 12, -1)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		limit := rapid.IntRange(0, 14).Draw(t, "limit")
		want := min(plainDistance([]rune(a), []rune(b)), limit+1)
		if got := fuzzy.Distance(a, b, limit); got != want {
			t.Fatalf("Distance(%q, %q, %d) = %d, want %d", a, b, limit, got, want)
		}
	})
}

func TestDistanceOfHugeTextsStaysCheap(t *testing.T) {
	a, b := strings.Repeat("ab", 1<<16), strings.Repeat("ba", 1<<16)
	if got := fuzzy.Distance(a, b, 3); got != 2 {
		t.Errorf("the distance is %d, want 2", got)
	}
}

func TestNearestIgnoresCaseAndKeepsItsLimit(t *testing.T) {
	names := []string{"Read", "Write", "Edit"}
	for _, tt := range []struct {
		s     string
		limit int
		want  string
		d     int
	}{{"raed", 2, "Read", 1}, {"EDIT", 0, "Edit", 0}, {"xyzzy", 2, "", 3}, {"", 3, "", 4}} {
		if got, d := fuzzy.Nearest(tt.s, names, tt.limit); got != tt.want || d != tt.d {
			t.Errorf("Nearest(%q, %d) = %q, %d, want %q, %d", tt.s, tt.limit, got, d, tt.want, tt.d)
		}
	}
}
