package shell

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestThePageOnChecksIsUpToDate(t *testing.T) {
	name := filepath.Join("..", "..", "..", "docs", "shell-checks.md")
	want := page(t)
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says: run go test ./internal/permission/shell -run Page -update", name)
	}
}

// page is docs/shell-checks.md.
func page(t testing.TB) string {
	var b strings.Builder
	b.WriteString(`# Shell checks

Before a command line runs, lathe reads it as bash would and looks for the following. Each check has a name, which
stands in the reason of a decision and in ` + "`lathe permission explain`" + `.

- **ask**: the line does not run unasked. An allow rule that speaks of every part of it, or an answer, lets it run.
- **deny**: stands above every rule and mode. Where somebody is there to answer, the danger is named and has to be
  confirmed; otherwise it is refused.

The checks look everywhere: in lists, pipes, substitutions, here-documents, nested shells, behind wrappers such as sudo
and xargs, in variables that the line sets, and in text that it decodes. This page is generated from the table of checks.

A line in which no check fires and that is read-only needs no answer. Loops, sums, conditions and the outputs of other
commands are not computed: a line with them is walked once, each value that the line itself names is looked at for
deny rules and guards, and everything else counts as unknown.
`)
	lines := permissiontest.Lines(t, "checks.txt")
	for _, group := range groups() {
		fmt.Fprintf(&b, "\n%s\n\n| check | effect | what it looks for | for example | but not |\n|---|---|---|---|---|\n",
			lines[0])
		lines = lines[1:]
		for _, c := range group {
			if lines[0] != c.name+":" {
				t.Fatalf("testdata/checks.txt has %s in the place of %s", lines[0], c.name)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.name, c.effect, cell(strings.TrimSpace(lines[1])),
				code(example(lines[2])), code(example(lines[3])))
			lines = lines[4:]
		}
	}
	return b.String()
}

// example is the command of a line of testdata/checks.txt.
func example(line string) string {
	_, text, _ := strings.Cut(line, ": ")
	if text == "LONG" {
		return "echo " + strings.Repeat("a", maxLine)
	}
	if plain, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		return plain
	}
	return text
}

// code writes a command into a table.
func code(line string) string {
	line = visible(shorten(line))
	fence := "`"
	for strings.Contains(line, fence) {
		fence += "`"
	}
	pad := ""
	if len(fence) > 1 {
		pad = " "
	}
	return fence + pad + strings.ReplaceAll(line, "|", `\|`) + pad + fence
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// visible writes text so that every character shows: blanks of other alphabets, control and invisible
// characters as U+XXXX, line breaks as \n.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r != ' ' && blank(r), r >= 0x7f && r < 0xa0, r == 0xfffd:
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
