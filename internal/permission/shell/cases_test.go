package shell

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// cases reads a file of testdata: a command a line, or a Go string.
func cases(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if text, err := strconv.Unquote(line); err == nil && line[0] == '"' {
			line = text
		}
		out = append(out, line)
	}
	return out
}

func TestHarmlessLinesRunUnasked(t *testing.T) {
	for _, line := range cases(t, "harmless.txt") {
		if r := read(line); !approved(r) {
			t.Errorf("%q asks: %s", line, show(r))
		}
	}
}

func TestOtherLinesAsk(t *testing.T) {
	for _, line := range cases(t, "ask.txt") {
		if r := read(line); approved(r) {
			t.Errorf("%q runs unasked: %s", line, show(r))
		}
	}
}

func TestDisastersAreRefused(t *testing.T) {
	for _, line := range cases(t, "deny.txt") {
		if r := read(line); !denied(r) {
			t.Errorf("%q is not refused: %s", line, show(r))
		}
	}
}

func TestOrdinaryChangesAreNotRefused(t *testing.T) {
	for _, line := range cases(t, "ordinary.txt") {
		r := read(line)
		if denied(r) || approved(r) {
			t.Errorf("%q does not merely ask: %s", line, show(r))
		}
	}
}

// show is a result in short.
func show(r Result) string {
	var b strings.Builder
	b.WriteString(string(r.Command.Class))
	for _, p := range r.Command.Parts {
		b.WriteString("\n    part " + strconv.Quote(p.Text) + " " + string(p.Class) + " " + p.Within + ": " + p.Reason)
		if !p.Exact {
			b.WriteString(" (not exact)")
		}
	}
	for _, f := range r.Command.Findings {
		b.WriteString("\n    " + string(f.Effect) + " " + f.Check + ": " + f.Text)
	}
	for _, x := range r.Accesses[1:] {
		b.WriteString("\n    " + string(x.Kind) + " " + x.Target)
	}
	return b.String()
}
