package program

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

// paper is a world without files, only names.
type paper struct{ permission.World }

func (paper) Home() string    { return "/home/u" }
func (paper) Roots() []string { return []string{"/work/proj"} }
func (paper) Stat(path string) permission.Node {
	if path == "/work/rust/rust-toolchain.toml" {
		return permission.Node{Real: path, Kind: permission.File}
	}
	return permission.Node{Real: path, Kind: permission.Missing}
}

func (paper) Program(name, _ string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "/usr/bin/" + name
}

var env = Env{Dir: "/work/proj", World: paper{}}

// words splits a line of the examples.
func words(line string) []Word {
	var out []Word
	var w Word
	in, quote := false, byte(0)
	end := func() {
		if in {
			out = append(out, w)
		}
		w, in = Word{}, false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && c == ' ':
			end()
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in, w.Quoted = c, true, true
		case c == quote:
			quote = 0
		case c == '$' && quote != '\'' && i+1 < len(line) && isLetter(line[i+1]):
			in, w.Unknown = true, true
			for i+1 < len(line) && isLetter(line[i+1]) {
				i++
			}
		default:
			in = true
			w.Glob = w.Glob || quote == 0 && (c == '*' || c == '?' || c == '[' && line != "[" && len(w.Text) > 0)
			w.Text += string(c)
		}
	}
	end()
	return out
}

// example is one line of testdata/uses.txt.
type example struct {
	class, line string
	want        []string
}

func examples(t testing.TB) []example {
	t.Helper()
	f, err := os.Open("testdata/uses.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []example
	for s := bufio.NewScanner(f); s.Scan(); {
		line, want, _ := strings.Cut(s.Text(), " => ")
		class, line, ok := strings.Cut(line, " ")
		if ok && !strings.HasPrefix(class, "#") {
			out = append(out, example{class, line, strings.Fields(want)})
		}
	}
	return out
}

func TestTheExamplesAreJudgedAsWritten(t *testing.T) {
	for _, e := range examples(t) {
		u := Analyze(words(e.line), env)
		switch e.class {
		case "asks":
			if u.Class.ReadOnly() || u.Class == permission.ClassDestructive {
				t.Errorf("%s: class %s", e.line, u.Class)
			}
		default:
			if string(u.Class) != e.class {
				t.Errorf("%s: class %s (%s), want %s", e.line, u.Class, u.Reason, e.class)
			}
		}
		if (u.Reason == "") != u.Class.ReadOnly() {
			t.Errorf("%s: class %s with reason %q", e.line, u.Class, u.Reason)
		}
		check(t, e, u)
	}
}

// check compares a use with the part of the line after => .
func check(t *testing.T, e example, u Use) {
	t.Helper()
	lists := map[string][]string{}
	marks := map[string]bool{
		"literal": u.Literal, "transparent": u.Transparent, "stdin": u.Stdin, "hides": u.ScriptHides,
		"git": u.Git,
	}
	wanted := map[string]bool{}
	name := ""
	for _, w := range e.want {
		if _, ok := marks[w]; ok && name != "inner" && name != "script" {
			wanted[w] = true
			continue
		}
		if n, ok := strings.CutSuffix(w, ":"); ok && slices.Contains([]string{
			"reads", "writes", "kills", "hosts", "inner",
			"script",
		}, n) {
			name = n
			continue
		}
		lists[name] = append(lists[name], w)
	}
	for m, is := range marks {
		if m != "git" && m != "hides" && m != "stdin" && is != wanted[m] &&
			(len(e.want) > 0 || is && m == "transparent") || wanted[m] && !is {
			t.Errorf("%s: %s is %v", e.line, m, is)
		}
	}
	var inner []string
	for _, words := range u.Inner {
		var texts []string
		for _, w := range words {
			if w.Unknown {
				w.Text = "?"
			}
			texts = append(texts, w.Text)
		}
		inner = append(inner, strings.Join(texts, " "))
	}
	for name, got := range map[string]string{
		"reads": strings.Join(u.Reads, " "), "writes": strings.Join(u.Writes, " "), "kills": strings.Join(u.Kills, " "),
		"hosts": strings.Join(u.Hosts, " "), "inner": strings.Join(inner, " ; "), "script": strings.Join(u.Script, " ; "),
	} {
		if want, ok := lists[name]; ok && got != strings.Join(want, " ") {
			t.Errorf("%s: %s %q, want %q", e.line, name, got, strings.Join(want, " "))
		}
	}
}
