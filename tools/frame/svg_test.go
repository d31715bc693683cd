package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wellFormed fails unless a picture is XML.
func wellFormed(t *testing.T, picture string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
	}
}

func TestAPictureShowsColoursAndColumns(t *testing.T) {
	got := svg([]string{"a \x1b[1;31mred\x1b[m <b>", "\x1b[48;5;22m中\x1b[38;2;1;2;3mx\x1b[m\x1b]8;;http://x\x1b\\l"}, 20)
	wellFormed(t, got)
	for _, want := range []string{
		`<tspan x="32.8" fill="#ff7b72" font-weight="bold">red</tspan>`,
		`&lt;b&gt;`,
		`<rect x="16.0" y="34.0" width="16.8" height="18.0" fill="#005f00"/>`,
		`<tspan x="32.8" fill="#010203">x</tspan>`,
		`<tspan x="41.2">l</tspan>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
}

func TestAFilmDrawsEachLineOnce(t *testing.T) {
	got := film([]shot{{0, []string{"same", "one"}}, {1, []string{"same", "two"}}, {2, []string{"same", "one"}}}, 10, 4)
	wellFormed(t, got)
	for text, n := range map[string]int{">same<": 1, ">one<": 1, ">two<": 1, "<animate": 2} {
		if strings.Count(got, text) != n {
			t.Errorf("%s is there %d times, not %d:\n%s", text, strings.Count(got, text), n, got)
		}
	}
	if want := `values="visible;hidden;visible" keyTimes="0.0000;0.2500;0.5000"`; !strings.Contains(got, want) {
		t.Errorf("%s is missing in\n%s", want, got)
	}
}

func TestAScriptIsPlayed(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not there")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "x.svg")
	script := filepath.Join(dir, "x.play")
	text := "# a comment\nsize 40 5\nrun sh -c cat\ntype hello\nkey Enter\nwait ^hello$\nshot " + out + "\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := play(script); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(b), ">hello<") {
		t.Errorf("%v: %s", err, b)
	}
	if err := os.WriteFile(script, []byte("jump\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := play(script); err == nil || !strings.Contains(err.Error(), "line 1: jump") {
		t.Errorf("%v", err)
	}
}

func TestAStillPictureHasNoEmptyThird(t *testing.T) {
	got := dense([]string{"", " ", "a", "", "\x1b[1m \x1b[m", "b", "c", "", ""})
	if want := []string{"a", "", "b", "c"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}
