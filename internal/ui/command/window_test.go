package command

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestThePictureOfTheWindowFitsALineAndIsTrueToScale(t *testing.T) {
	shares := []Share{
		{Name: "tools", Tokens: 2_000},
		{Name: "tool calls and results", Tokens: 98_000, Parts: []Share{{
			Name:   "a tool with a name that is very long",
			Tokens: 98_000,
		}}},
		{Name: "summary"},
	}
	const size = 200_000
	got := whole(100_000, size, 150_000) + picture(shares, 100_000, size)
	lines := strings.Split(got, "\n")
	if used, free := strings.Count(lines[0], "█"), strings.Count(lines[0], "░"); used != windowCells/2 || used+
		free != windowCells-1 {
		t.Errorf("%d cells used, %d free: %s", used, free, lines[0])
	}
	if at := utf8.RuneCountInString(lines[0][:strings.Index(lines[0], "┃")]); at != windowCells*3/4 {
		t.Errorf("the compaction is at cell %d", at)
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > 78 {
			t.Errorf("too wide: %q", l)
		}
	}
	for _, want := range []string{"50.0 % used", "tool calls and results          98,000  49.0 %  " +
		strings.Repeat("█", barCells), "free                           100,000  50.0 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "summary") {
		t.Errorf("an empty share has a row:\n%s", got)
	}
	if whole(100, 0, 0) != "" {
		t.Error("a window of unknown size has a bar")
	}
}
