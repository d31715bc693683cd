package shell

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func TestThePageOnChecksIsUpToDate(t *testing.T) {
	name := filepath.Join("..", "..", "..", "docs", "shell-checks.md")
	want := page()
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
func page() string {
	var b strings.Builder
	b.WriteString(`# Shell checks

Before a command line runs, lathe reads it as bash would and looks for the following. Each check has a name, which
stands in the reason of a decision and in ` + "`lathe permission explain`" + `.

- **ask**: the line does not run unasked. An allow rule that speaks of every part of it, or an answer, lets it run.
- **deny**: stands above every rule and mode. Where somebody is there to answer, the danger is named and has to be
  confirmed; otherwise it is refused.

The checks look everywhere: in lists, pipes, substitutions, here-documents, nested shells, behind wrappers such as sudo
and xargs, in variables that the line sets, and in text that it decodes. This page is generated from the table of checks.

A line in which no check fires and that is read-only runs in a form of lathe's own, with every word in quotes. Where the
text alone gives the values of loops, sums and conditions, they are computed beforehand: ` + "`i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done`" + `,
` + "`for ((i=0; i<3; i++))`" + `, ` + "`a=(x y); echo ${a[1]}`" + `, ` + "`${x,,}`" + `, ` +
		"`[[ -f x && $f == *.go ]]`" + `, ` + "`echo a.txt | xargs wc`" + `. That form has the
results, at most 50 turns of a loop, and evaluates nothing. The output of a command in a variable is kept, so that ` + "`t=$(date +%s%N); echo $t $t`" + ` runs it once.
A variable that comes from elsewhere, or that may have been set or
not, is not known, and the checks below ask; a test may look at one: ` + "`[ -z \"$CI\" ]`, `[[ $x == 1 ]]`" +
		`. A list of names in a file
(` + "`xargs -a list wc`, `cat list | xargs wc`" +
		`) is read before the decision, up to 16,000 bytes: each name is judged as if it were typed, and the form has these
names, whatever happens to the file. Names out of commits (` + "`git log --name-only --format= | xargs wc`" +
		`) lose those that are absolute, have .. in them, are quoted,
patterns or flags, or may not be read. After ` + "`set -x`" +
		` the shell prints that form. What reaches another machine asks, also to read from it: ` + "`kubectl get`" + `, ` +
		"`gh pr view`" + `,
` + "`helm list`" + `, ` + "`npm view`" + `; an allow rule such as ` + "`Bash(kubectl get *)`" +
		` is the answer to that.
`)
	titles := []string{
		"The text itself", "Hidden commands", "Expansions", "Forms of zsh",
		"Variables and the state of the shell", "Programs", "Other machines and folders", "Secrets", "Writing", "Disasters",
	}
	for i, group := range groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| check | effect | what it looks for | for example | but not |\n|---|---|---|---|---|\n",
			titles[i])
		for _, c := range group {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Name, c.Effect, cell(c.Sentence), code(c.Fires), code(c.Spares))
		}
	}
	return b.String()
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
