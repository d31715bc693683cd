package syntax_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/base/syntax"
)

// letters represent kinds in the tests, one per byte of code.
const letters = ".ksncftKvotAR"

// kinds writes the kind of every byte of the code, line by line.
func kinds(lang, code string) string {
	l := syntax.Find(lang)
	var out []string
	var s syntax.State
	for line := range strings.SplitSeq(code, "\n") {
		var b strings.Builder
		s = l.Line(s, line, func(k syntax.Kind, text string) {
			for _, r := range text {
				if r == ' ' {
					b.WriteByte(' ')
				} else {
					b.WriteByte(letters[k])
				}
			}
		})
		out = append(out, b.String())
	}
	return strings.Join(out, "\n")
}

func TestCodeIsTold(t *testing.T) {
	for _, c := range []struct{ name, lang, code, want string }{
		{
			"go", "go", "func add(a int) string { return \"x\\\"\" + `raw` } // sum",
			"kkkk fff.. ttt. tttttt . kkkkkk sssss o sssss . cc ccc",
		},
		{"a raw string over lines", "go", "x := `a\nb` + 1", ". oo ss\nss o n"},
		{"a block comment over lines", "c", "/* a\n * b */ int x;", "cc c\n c c cc ttt .."},
		{"comments in comments", "rust", "/* a /* b */ c */ let x", "cc c cc c cc c cc kkk ."},
		{"lifetimes are no characters", "rust", "fn f<'a>(s: &'a str, c: 'x')", "kk .o..o..o o.. ttt. .o sss."},
		{
			"a docstring", "python", "def f():\n    \"\"\"say\n    more\"\"\"\n    return None  # done",
			"kkk f..o\n    ssssss\n    sssssss\n    kkkkkk KKKK  c cccc",
		},
		{"numbers", "python", "1_000 + 0xff - 1.5e-3 .. 2", "nnnnn o nnnn o nnnnnn .. n"},
		{"template strings", "ts", "const a = `x\n${b}`", "kkkkk . o ss\nsssss"},
		{"a key", "json", `{"a": "b", "c": [1, true]}`, `.ttto sss. ttto .n. KKKK..`},
		{"yaml", "yaml", "name: \"x\" # note\n- key: true", "tttto sss c cccc\n. ttto KKKK"},
		{"toml", "toml", "[a.b]\nkey = 'v'", "ttttt\nttt o sss"},
		{"shell", "bash", "for f in $HOME/*; do echo \"$f\"; done", "kkk . kk vvvvvoo. kk ffff ssss. kkkk"},
		{"a here-document", "bash", "cat <<EOF\nx $y\nEOF\nls", "fff kkkkk\ns ss\nkkk\nff"},
		{"sql in capitals", "sql", "SELECT a FROM t -- all", "kkkkkk . kkkk . cc ccc"},
		{"a diff", "diff", "@@ -1 +1 @@\n-a\n+b", "tt tt tt tt\nRR\nAA"},
		{"html", "html", "<a href=\"x\">t</a><!-- c\nd -->e", "kk vvvv.sssk.kkkkcccc c\nc ccc."},
		{"lua", "lua", "--[[ a\nb ]] x = 1 -- c", "cccc c\nc cc . o n cc c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, kinds(c.lang, c.code)); d != "" {
				t.Errorf("%s\n%s", c.code, d)
			}
		})
	}
}

func TestLanguagesAreFoundByNameAndByFile(t *testing.T) {
	for in, want := range map[string]string{
		"Go": "go", "golang": "go", "rs": "rust", "c++": "cpp", "tsx": "js",
		"yml": "yaml", "Console": "sh",
	} {
		if syntax.Find(in) == nil || syntax.Find(in) != syntax.Find(want) {
			t.Errorf("Find(%q) is not %s", in, want)
		}
	}
	for in, want := range map[string]string{
		"a/b.go": "go", "Makefile": "make", "x/Dockerfile": "docker",
		`C:\x\y.PY`: "python", "a.test.ts": "ts", ".bashrc": "sh", "go.mod": "", "x": "", "": "",
	} {
		got := syntax.ForPath(in)
		if want == "" && got != nil || want != "" && got != syntax.Find(want) {
			t.Errorf("ForPath(%q) is not %q", in, want)
		}
	}
	if syntax.Find("no such language") != nil || syntax.Find("") != nil {
		t.Error("a language was found that is not there")
	}
}

var names = strings.Fields("go c cpp rust java kotlin cs js swift dart scala zig php proto graphql sol python sh " +
	"ps1 ruby perl lua r jl sql make docker cmake vim hs ex erl ml clj nix tf json yaml toml ini css html diff md")

func TestThePiecesAreTheLine(t *testing.T) {
	pieces := []string{
		"\"", "'", "`", "/*", "*/", "//", "#", "--", "[[", "]]", "<<EOF", "EOF", "<", ">", "<!--", "-->",
		"$", "${", "}", "\\", "0x", "1.", "é", "\xff", "word", " ", "\t", "=", ":", "@", "{-", "-}", "'''", "\"\"\"", "r#\"",
		"(",
	}
	rapid.Check(t, func(t *rapid.T) {
		l := syntax.Find(rapid.SampledFrom(names).Draw(t, "language"))
		var s syntax.State
		for range rapid.IntRange(1, 6).Draw(t, "lines") {
			code := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "code"), "")
			var b strings.Builder
			s = l.Line(s, code, func(k syntax.Kind, text string) {
				if text == "" {
					t.Fatal("an empty piece")
				}
				b.WriteString(text)
			})
			if b.String() != code {
				t.Fatalf("%q became %q", code, b.String())
			}
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add("go", "func main() { /* x */ }\n`a\nb`")
	f.Add("html", "<a b='c'><!-- \n -->")
	f.Fuzz(func(t *testing.T, lang, code string) {
		l := syntax.Find(lang)
		if l == nil {
			l = syntax.Find(names[len(code)%len(names)])
		}
		var s syntax.State
		for line := range strings.SplitSeq(code, "\n") {
			n := 0
			s = l.Line(s, line, func(_ syntax.Kind, text string) { n += len(text) })
			if n != len(line) {
				t.Fatalf("%q: %d of %d bytes", line, n, len(line))
			}
		}
	})
}

func BenchmarkLine(b *testing.B) {
	code := strings.Split("func (s *Stream) measure(width int) {\n\twidth = max(width, 1) // at least one cell\n\tif "+
		"s.width != width {\n\t\ts.log.Info(\"width changed\", \"from\", s.width)\n\t}\n}", "\n")
	n := 0
	for _, l := range code {
		n += len(l)
	}
	b.SetBytes(int64(n))
	l := syntax.Find("go")
	for b.Loop() {
		var s syntax.State
		for _, c := range code {
			s = l.Line(s, c, func(syntax.Kind, string) {})
		}
	}
}
