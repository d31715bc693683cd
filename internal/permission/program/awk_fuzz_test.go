package program

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// awks are the versions of awk that are installed here, with the words before the program.
func awks() (out [][]string) {
	for _, words := range [][]string{{"gawk"}, {"mawk"}, {"original-awk"}, {"busybox", "awk"}, {"goawk"}, {"awk"}} {
		path, err := exec.LookPath(words[0])
		if err == nil {
			out = append(out, append([]string{path}, words[1:]...))
		}
	}
	return out
}

// awkWriter makes programs at random. Many of them write files or run commands in ways that are easy to overlook;
// most are valid for some version of awk.
type awkWriter struct {
	*rand.Rand
	depth int
}

func (g *awkWriter) pick(list ...string) string { return list[g.IntN(len(list))] }

// gap is a separator between two tokens, perhaps empty.
func (g *awkWriter) gap() string {
	return g.pick("", "", "", " ", " ", " ", "\t", "\\\n", " # c\n", "\n", " #\"\n", "#/\n")
}

// soft is a gap that never ends a statement.
func (g *awkWriter) soft() string { return g.pick("", "", " ", " ", "\t", "\\\n") }

func (g *awkWriter) regex() string {
	return g.pick("/a/", "/a;b/", "/[/]/", "/\\//", "/a|b/", "/\"/", "/[^\"/]/", "/[[:alpha:]/]/", "/#/", "/>/", "/=a/",
		"/[]/]/", "/\\[/", "/{/", "/[a-z]+>/", "/]/", "/[\\]/]/", "/[[]/")
}

func (g *awkWriter) text() string {
	return g.pick(`"x"`, `"a/b"`, `"\""`, `"a>b"`, `"#"`, `"/"`, `";"`, `"\\"`, `"a\/b"`, `"|"`, "\"a\\\nb\"", `"}"`)
}

// target is where output may go: always a file below the folder of the test.
func (g *awkWriter) target() string {
	return g.pick(`"MK"`, `"M" "K"`, `$1`, `("MK")`, `FILENAME ".MK"`, `"/dev/stderr"`, `"/dev/stdout"`)
}

func (g *awkWriter) expr() string {
	if g.depth++; g.depth > 5 {
		g.depth--
		return g.pick("a", "1", "$1")
	}
	defer func() { g.depth-- }()
	switch g.IntN(22) {
	case 0, 1, 2:
		return g.pick("a", "b", "$1", "$NF", "NR", "NF", "c[1]", "c[$1]", "1", "0", "2.5", "1e3", ".5", "0x1", "length")
	case 3:
		return g.text()
	case 4, 5:
		return g.regex()
	case 6, 7, 8:
		op := g.pick("+", "-", "*", "/", "%", "^", "<", "==", "!=", ">", ">=", "~", "!~", "&&", "||", " ", " in ", "/", "=",
			"/=", ">", ">>", "**")
		return g.expr() + g.soft() + op + g.gap() + g.expr()
	case 9:
		return "(" + g.soft() + g.expr() + g.gap() + ")"
	case 10:
		return "(" + g.expr() + "," + g.gap() + g.expr() + ")" + g.soft() + "in c"
	case 11:
		return g.expr() + g.soft() + "?" + g.soft() + g.expr() + g.gap() + ":" + g.soft() + g.expr()
	case 12:
		return g.pick("!", "-", "+", "++", "--") + g.expr()
	case 13:
		return g.pick("a", "c[1]", "$1") + g.pick("++", "--") + g.soft() + g.pick("", g.regex(), "/ 2")
	case 14:
		return g.pick("length", "substr", "toupper", "int", "split", "gsub", "match", "sprintf", "index", "fflush", "f",
			"close") + g.pick("", "", " ") + "(" + g.expr() + "," + g.gap() + g.expr() + ")"
	case 15:
		return g.pick("getline", "getline a", "(getline a)", "getline a < \"f\"", `"echo x > MK" | getline`,
			`"echo x > MK" |& getline a`)
	case 16:
		return g.pick("system", "system ") + "(" + `"echo x > MK"` + ")"
	case 17:
		return g.expr() + " " + g.expr()
	case 18:
		return g.pick(`@g(1)`, `SYMTAB["a"]`, `PROCINFO["sorted_in"]`, `ENVIRON["HOME"]`, "length", "a (b)", "f(1)", "f (1)")
	default:
		return g.pick("a", "b", "$1", g.text(), g.regex())
	}
}

func (g *awkWriter) output() string {
	return g.soft() + g.pick(">", ">>", ">", "|", "|&", "\n>") + g.soft() + g.pick(g.target(), g.target(), `"cat > MK"`,
		g.target()+" "+g.expr())
}

func (g *awkWriter) print() string {
	s := g.pick("print", "print", "printf") + g.soft()
	for range g.IntN(3) {
		s += g.pick(" ", "(", " ") + g.expr() + g.pick(",", ","+g.gap(), "", ")", " ")
	}
	if !strings.HasSuffix(strings.TrimSpace(s), ",") && g.IntN(2) == 0 || g.IntN(9) == 0 {
		s += g.expr()
	}
	if g.IntN(3) == 0 {
		s += g.output()
	}
	return s
}

func (g *awkWriter) stmt() string {
	if g.depth++; g.depth > 6 {
		g.depth--
		return "next"
	}
	defer func() { g.depth-- }()
	switch g.IntN(14) {
	case 0, 1, 2, 3, 4:
		return g.print()
	case 5, 6:
		return g.expr()
	case 7:
		return "if (" + g.expr() + ")" + g.gap() + g.stmt() + g.pick("", g.end()+"else"+g.gap()+" "+g.stmt())
	case 8:
		return "while (i++ < 2 && " + g.expr() + ")" + g.gap() + g.stmt()
	case 9:
		return "for (i = 0; i < 2; i++)" + g.gap() + g.stmt()
	case 10:
		return "for (k in c)" + g.gap() + g.stmt()
	case 11:
		return "{" + g.gap() + g.stmts() + "}"
	case 12:
		return "do" + g.gap() + " " + g.stmt() + g.end() + "while (i++ < 2)"
	}
	return g.pick("next", "exit", "delete c[1]", "nextfile", "return", "delete c", "exit "+g.expr(), "getline", "fflush()")
}

func (g *awkWriter) end() string { return g.pick(";", "\n", ";\n", "; ", "}", "") }

func (g *awkWriter) stmts() string {
	s := ""
	for range 1 + g.IntN(3) {
		s += g.gap() + g.stmt() + g.pick(";", "\n", ";\n", " ; ", "")
	}
	return s
}

func (g *awkWriter) program() string {
	s := ""
	for range 1 + g.IntN(2) {
		s += g.pick("", "", "BEGIN ", "END", g.expr(), g.expr()+","+g.gap()+g.expr(), "function f(x, y)"+g.gap())
		s += g.pick("{", "{", "{\n") + g.stmts() + "}" + g.pick("", "\n", ";", " ")
	}
	return s
}

// mutate corrupts a text: awk is forgiving, and the table must not be.
func (g *awkWriter) mutate(s string) string {
	for range g.IntN(3) {
		at, to := g.IntN(len(s)+1), g.IntN(len(s)+1)
		switch g.IntN(4) {
		case 0:
			s = s[:at] + g.pick("\n", "\"", "/", "\\", ">", ")", "(", "}", "{", "#", ";", " ", "[", "]", ",", "|", "\\\n", "\r",
				"&", "@", "é") + s[at:]
		case 1:
			s = s[:min(at, to)] + s[max(at, to):]
		case 2:
			s = s[:at] + s[min(at, to):]
		case 3:
			s = s[:at] + `;print /a/ > "MK"` + s[at:]
		}
	}
	return s[:min(len(s), 600)]
}

// rewards are programs whose meaning depends on one detail. The fuzzer combines them with generated ones.
var rewards = []string{
	`print /a;b/,"x" > "MK"`, "print 1,\n\"x\" > \"MK\"", `print a ? b : c > "MK"`, `print (a)(b) > "MK"`,
	`print "x" >"MK"`, `print a /b > "MK"`, `print "\"" > "MK"`, `print /[/]/ > "MK"`,
	`system("echo x > MK")`, `"echo x > MK" | getline`, `print | "cat > MK"`,
}

// TestAwkProgramsThatCountAsReadOnlyChangeNothing runs random programs that the table takes for read-only under
// every installed awk. LATHE_AWK_PROGRAMS is their number (2000), LATHE_AWK_SEED the seed.
func TestAwkProgramsThatCountAsReadOnlyChangeNothing(t *testing.T) {
	versions := awks()
	if len(versions) == 0 {
		t.Skip("no awk is installed")
	}
	count, seed := number("LATHE_AWK_PROGRAMS", 2000), number("LATHE_AWK_SEED", int(time.Now().UnixNano()&0xffffff))
	g := &awkWriter{Rand: rand.New(rand.NewPCG(uint64(seed), 1))}
	box := newAwkBox(t)
	ran := 0
	for range count {
		g.depth = 0
		text := g.program()
		switch g.IntN(5) {
		case 0, 1:
			text = g.mutate(text)
		case 2:
			at := g.IntN(len(text) + 1)
			text = text[:at] + g.pick(rewards...) + g.pick("", ";", "\n", " ") + text[at:]
		}
		if awkDoes(text) != "" || strings.Contains(text, "\x00") {
			continue
		}
		ran++
		for _, words := range versions {
			if changed := box.run(t, words, text); changed != "" {
				t.Fatalf("%s %q: %s (seed %d)", words[0], text, changed, seed)
			}
		}
	}
	t.Logf("%d of %d programs count as read-only; seed %d", ran, count, seed)
	if ran < count/100 {
		t.Errorf("only %d of %d programs count as read-only: the fuzzer has gone blind", ran, count)
	}
}

// TestTheBoxNoticesAWrite makes sure that the fuzzer can detect a write.
func TestTheBoxNoticesAWrite(t *testing.T) {
	versions := awks()
	if len(versions) == 0 {
		t.Skip("no awk is installed")
	}
	box := newAwkBox(t)
	for _, words := range versions {
		for _, text := range rewards[:3] {
			if box.run(t, words, "{"+text+"}") == "" {
				t.Errorf("%s wrote a file by %q and the box did not notice", words[0], text)
			}
		}
	}
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// awkBox is a folder in which programs run, with a home and a path of its own.
type awkBox struct{ dir, home string }

const awkInput = "MK a b\nx 1 2\n/ 3\n"

func newAwkBox(t *testing.T) awkBox {
	b := awkBox{dir: t.TempDir(), home: t.TempDir()}
	b.reset(t)
	return b
}

func (b awkBox) reset(t *testing.T) {
	for _, dir := range []string{b.dir, b.home} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(b.dir, "f"), []byte(awkInput), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a program and describes its first change to the box, "" for none.
func (b awkBox) run(t *testing.T, words []string, text string) string {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, words[0], append(words[1:len(words):len(words)], text, "f")...)
	cmd.Dir, cmd.Env = b.dir, []string{"HOME=" + b.home, "PATH=" + b.home, "LC_ALL=C"}
	_ = cmd.Run() // most programs are invalid for some version; only their changes count
	changed := b.changed(t)
	if changed != "" {
		b.reset(t)
	}
	return changed
}

func (b awkBox) changed(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join(b.dir, "f"))
	if err != nil || string(data) != awkInput {
		return fmt.Sprintf("the input changed: %q %v", data, err)
	}
	for _, dir := range []string{b.dir, b.home} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "f" {
				return "it left " + e.Name()
			}
		}
	}
	return ""
}
