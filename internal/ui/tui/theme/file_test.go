package theme

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

func TestAThemeOfAFileIsAnotherOneWithOtherColours(t *testing.T) {
	text := `{"name": "Mine", "base": "dark", "overrides": {"claude": "rgb(1, 2, 3)", "good": "#0A0B0C", "nothing": "x", "diffAdded": "#010203"}}`
	got, err := Read("mine", []byte(text), false, colorprofile.TrueColor)
	if err != nil {
		t.Fatal(err)
	}
	base := Must("dark", true, colorprofile.TrueColor)
	if got.Name != "mine" || !got.Dark || !strings.Contains(got.Accent.Prefix, "38;2;1;2;3") ||
		!strings.Contains(got.Good.Prefix, "38;2;10;11;12") {
		t.Errorf("%q %v %q %q", got.Name, got.Dark, got.Accent.Prefix, got.Good.Prefix)
	}
	if !strings.Contains(got.Diff.Added.Prefix, "48;2;1;2;3") || got.Bad != base.Bad {
		t.Errorf("%q %q", got.Diff.Added.Prefix, got.Bad.Prefix)
	}
	few, err := Read("mine", []byte(text), false, colorprofile.ANSI)
	if err != nil || few.Accent != Must("dark", true, colorprofile.ANSI).Accent {
		t.Errorf("with 16 colours: %v %v", few, err)
	}
	for text, want := range map[string]string{
		`{"base": "nosuch"}`: "there is no theme",
		`[]`:                 "no JSON in the form of a theme",
		`{"overrides": {"accent": "\u001b[31m"}}`: "is no colour",
	} {
		if _, err := Read("bad", []byte(text), true, colorprofile.TrueColor); err == nil || !strings.Contains(err.Error(),
			want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
