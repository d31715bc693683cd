package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

// shelf is a machine whose files can be read, except .env.
type shelf struct{ machine }

func (s shelf) Text(path string, max int) (string, bool) {
	data, err := os.ReadFile(path)
	return string(data), err == nil && len(data) <= max && filepath.Base(path) != ".env" && below(path, s.root)
}

// newShelf is a workshop with some lists.
func newShelf(t *testing.T) shelf {
	t.Helper()
	m := shelf{workshop(t)}
	for name, text := range map[string]string{
		"list": "a.txt\nsrc/main.go\n\nnotes.txt\n", "blanks": "  a.txt b.txt\n\tnotes.txt", "words": "a b\nc d e\n\n f",
		"spaced": "two words.txt\n", "flag": "-c\na.txt\n", "hidden": "a.txt\n.env\n", "out": "../x\n",
		"away": "/etc/passwd\n",
		".env": "KEY=1\n", "quoted": "'.env'\n", "lead": " .env\n", "long": strings.Repeat("a.txt\n", 3000),
		"delete": "-delete\n", "empty": "", "unended": "src/main.go\na.txt", "folders": "src\n.\n", "globs": "*.txt\n",
		"one": "a.txt\u00a0b\n",
	} {
		if err := os.WriteFile(filepath.Join(m.root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// allowed reports whether a line runs without a question there.
func (s shelf) allowed(line string) (bool, Result) {
	r := Analyze(line, s.root, s)
	p := permission.NewPolicy(noTools{}, s.home, []string{s.root}, nil)
	return p.Decide(permission.Request{
		Tool: "Bash", Mode: permission.Default, Dir: s.root,
		Accesses: r.Accesses,
	}).Effect == permission.Allow, r
}

func TestAListInAFileIsReadAsBashDoes(t *testing.T) {
	m := newShelf(t)
	for _, line := range []string{
		"xargs -a list wc -l", "xargs wc -l < list", "cat list | xargs wc -l", "xargs -n1 -a list wc -c",
		"xargs -n 2 wc -c < list", "xargs -I{} -a list echo '<{}>'", "cat list | xargs -I % head -1 %",
		"xargs grep -c foo < list", "xargs -n1 grep -c foo < list; echo $?",
		"xargs -a list grep nosuch; echo $?", "xargs -a blanks cat", "cat blanks | xargs -n1 basename",
		"xargs -a words echo", "xargs -n2 echo < words", "xargs -I{} echo '{}' < words", "xargs -I{} echo {} < blanks",
		"xargs -d '\\n' wc -l < spaced", "xargs -a flag wc", "xargs -a empty echo none", "xargs -r -a empty echo none",
		"xargs -0 echo < list", "cat list | xargs cat | wc -l", "xargs -a list ls 2>/dev/null | head -2",
		"xargs -a list --max-args=1 stat -c %s", "set -o pipefail; cat list | xargs wc -l; echo $?",
		"xargs echo < list 2>&1", "xargs -a list test -f; echo $?", "xargs printf '%s,' < list",
		"echo a b | xargs -n1 grep x; echo $?",
		"cat list | xargs -P4 wc -c", "xargs -L1 echo < list",
		"sort unended | xargs wc -l", "cat unended | sort | xargs cat", "head -1 unended | xargs cat",
		"tail -n1 unended | xargs cat", "grep txt unended | xargs -n1 wc -c", "cat unended | grep -v main | xargs wc -l",
		"sort -u unended | uniq | xargs cat",
		"cat unended | while read f; do wc -l $f; done", "tail -1 unended | while read f; do wc -l $f; done",
		"sort unended | while read f; do wc -l $f; done", "for f in $(cat unended); do wc -l $f; done",
		"for f in $(sort unended); do wc -l $f; done", "wc -l $(cat unended)", "cat unended", "cat unended | wc -l",
		"for d in $(cat folders); do ls $d/*.go; done",
		"for d in $(cat folders); do ls $d/*.txt 2>/dev/null | head -2; done",
		"for f in $(cat list); do basename $f .txt; done", "for f in $(cat list); do grep -c foo ./$f; done; echo $?",
		"for f in $(cat blanks); do head -1 $f; done",
	} {
		ok, r := m.allowed(line)
		if !ok {
			t.Errorf("%q asks: %s", line, show(r))
			continue
		}
		if want, got := bash(t, m.machine, line), bash(t, m.machine, r.Command.Script); got != want {
			t.Errorf("%q prints\n%s\nits script %s prints\n%s", line, want, r.Command.Script, got)
		}
	}
}

func TestAListThatNamesMoreThanFilesToReadAsks(t *testing.T) {
	m := newShelf(t)
	for _, line := range []string{
		"xargs -a hidden cat", "xargs cat < hidden", "cat hidden | xargs cat", "xargs -a out cat", "xargs -a away wc",
		"cat quoted | xargs cat", "xargs -d '\\n' -I{} cat {} < lead", "xargs -I{} -d '\\n' cat {} < lead",
		"xargs -I{} cat {} < lead", "xargs -a long wc", "xargs -a nosuch wc", "xargs -a .env echo", "xargs echo < .env",
		"cat .env | xargs echo",
		"xargs -a delete find .", "xargs rm < list", "xargs -a list sh", "xargs -a list sh -c 'cat $0'",
		"xargs -I{} {} < list", "xargs -a list -a hidden cat", "xargs cat < list < hidden",
		"xargs cat < hidden <<< a.txt < hidden", "xargs -L1 echo < words", "xargs -L1 -0 cat < list",
		"xargs -n1 -L1 cat < list", "xargs -a list tee", "xargs -s 10 -a list cat", "xargs -e -a list cat",
		"xargs -p -a list cat",
		"echo hidden > list; xargs -a list cat", "touch x; xargs -a list cat", "xargs -a /etc/passwd echo",
		"xargs -a ../list cat", "xargs -a - cat", "cat a.txt | xargs -a list cat", "cat - | xargs cat",
		"cat list hidden | xargs cat", "cat *.txt | xargs cat", "cat list | rev | xargs cat",
		"cat <(cat hidden) | xargs cat", "FOO=1 xargs -a list cat", "xargs -a $X cat", "xargs -a list cat | sh",
		"cd src; xargs -a ../hidden cat",
		"for f in $(cat globs); do cat $f; done", "for f in $(cat hidden); do cat $f; done",
		"for f in $(cat away); do cat $f; done", "for f in $(cat out); do ls $f/*; done",
		"for f in $(cat list); do touch $f; done", "for f in $(cat list); do echo x > $f; done",
		"for f in $(cat list hidden); do cat $f; done",
		"for f in $(cat delete); do find . $f; done", "for d in $(cat folders); do cat $d/.env; done",
		"for d in $(cat folders); do cat $d/.e*; done", "for f in $(cat .env); do echo $f; done",
		"for f in $(cat one); do cat $f/x; done; touch y", "IFS=m; for f in $(cat list); do cat $f; done",
		"cat hidden > list; for f in $(cat list); do cat $f; done",
		"sort hidden | xargs cat", "for d in $(cat list); do $d; done", "for f in $(cat list); do sh $f; done",
		"xargs cat < list 0<&3", "xargs cat < list 0<>hidden",
	} {
		if ok, r := m.allowed(line); ok {
			t.Errorf("%q runs unasked: %s\n%s", line, show(r), r.Command.Script)
		}
	}
}

func TestAListThatChangesBetweenTheCheckAndTheRunDoesNotMatter(t *testing.T) {
	m := newShelf(t)
	for _, line := range []string{
		"xargs -a list cat", "xargs cat < list", "cat list | xargs cat",
		"cat list | xargs -I{} head {}", "for f in $(cat list); do cat $f; done", "sort list | xargs cat",
	} {
		ok, r := m.allowed(line)
		want := bash(t, m.machine, r.Command.Script)
		list, err := os.ReadFile(filepath.Join(m.root, "list"))
		if err != nil || !ok {
			t.Fatalf("%q: %v %s", line, err, show(r))
		}
		if err := os.WriteFile(filepath.Join(m.root, "list"), []byte(".env\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := bash(t, m.machine, r.Command.Script); got != want || strings.Contains(got, "KEY") {
			t.Errorf("%q prints %q, want %q", line, got, want)
		}
		if err := os.WriteFile(filepath.Join(m.root, "list"), list, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
