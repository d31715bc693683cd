package tool_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/agent"
)

func TestEditTakesATextThatIsAlikeInOnePlace(t *testing.T) {
	for name, c := range map[string]struct{ file, old, fresh, want, says string }{
		"spaces at line ends":  {"a  \nb\t\nc\n", "a\nb\n", "A\nB\n", "A\nB\nc\n", "spaces at line ends"},
		"spaces in old_string": {"a\nb\nc\n", "a \nb ", "A\nB", "A\nB\nc\n", "spaces at line ends"},
		"less indentation": {
			"x:\n    if a:\n        b()\n", "if a:\n    b()\n", "if a:\n    c()\n",
			"x:\n    if a:\n        c()\n", "indentation",
		},
		"more indentation": {
			"if a:\n    b()\nz\n", "    if a:\n        b()", "    if a:\n        c()",
			"if a:\n    c()\nz\n", "indentation",
		},
		"tabs for spaces": {
			"f {\n\tone()\n\ttwo()\n}\n", "    one()\n    two()", "    one()\n    three()",
			"f {\n\tone()\n\tthree()\n}\n", "indentation",
		},
		"typographic quotes": {
			"say “hi” – now\nx\n", "say \"hi\" - now", "say \"bye\" - now",
			"say \"bye\" - now\nx\n", "special characters",
		},
		"a no-break space":    {"a\u00a0b\nx\n", "a b", "c d", "c d\nx\n", "special characters"},
		"a blank of no width": {"a\u200bb\nx\n", "ab", "cd", "cd\nx\n", "special characters"},
		"escaped newlines": {
			"a\n\tb \"q\"\nc\n", `a\n\tb \"q\"`, `A\n\tB \"q\"`, "A\n\tB \"q\"\nc\n",
			"escapes",
		},
		"line numbers": {
			"one\ntwo\nthree\n", "2\ttwo\n3\tthree\n", "2\tTWO\n3\tTHREE\n",
			"one\nTWO\nTHREE\n", "line numbers",
		},
		"line numbers with an arrow": {
			"one\ntwo\nthree\n", "     2→two\n     3→three", "TWO\nTHREE", "one\nTWO\nTHREE\n",
			"line numbers",
		},
		"line ends of the file":         {"a \r\nb\r\nc\r\n", "a\nb\n", "A\nB\n", "A\r\nB\r\nc\r\n", "spaces at line ends"},
		"a line end that goes":          {"a \nb\nc\n", "a\nb\n", "", "c\n", "spaces at line ends"},
		"an empty line in front":        {"x\na \nb\n", "\na\nb", "\nA\nB", "x\nA\nB\n", "spaces at line ends"},
		"the last line without its end": {"x\na \nb", "a\nb\n", "A\nB\n", "x\nA\nB", "spaces at line ends"},
		"quotes within a line": {
			"x := say(“hi”) // now\ny\n", "say(\"hi\")", "say(\"bye\")",
			"x := say(\"bye\") // now\ny\n", "special characters",
		},
		"an apostrophe within a line": {"I don’t know\n", "don't", "do", "I do know\n", "special characters"},
		"three dots in one":           {"wait… now\n", "wait... n", "go n", "go now\n", "special characters"},
		"spaces at an inner line end": {"f(a,  \n\tb)  // c\n", "(a,\n\tb)", "(b)", "f(b)  // c\n", "spaces at line ends"},
		"a no-break space in a line": {
			"if a\u00a0== b {\r\n}\r\n", "a == b", "a != b", "if a != b {\r\n}\r\n",
			"special characters",
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			b.put("f", c.file)
			b.read("f")
			got := b.must("Edit", in{"file_path": "f", "old_string": c.old, "new_string": c.fresh})
			if b.content("f") != c.want {
				t.Errorf("%q, want %q", b.content("f"), c.want)
			}
			wantIn(t, got, "not found exactly", c.says)
		})
	}
}

func TestEditDoesNotGuess(t *testing.T) {
	for name, c := range map[string]struct{ file, old string }{
		"two places":              {"  a  \nx\n  a   \n", "a\n"},
		"indentation that varies": {"if a:\n  b()\n      c()\n", "if a:\n    b()\n    c()\n"},
		"other words":             {"return alpha + 1\n", "return alpha + 2"},
		"other case":              {"Return alpha\n", "return alpha"},
		"a missing line":          {"a\nb\nc\nd\n", "a\nc\nd"},
		"blanks inside of a line": {"a  =  1\n", "a = 1"},
		"two quotes in lines":     {"say(“a b”) say(\u201ea b”)\n", "(\"a b\")"},
		"a part of three dots":    {"wait… now\n", "wait.."},
		"only blanks":             {"a\n\n\t\nb\n", " \n "},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			b.put("f", c.file)
			b.read("f")
			b.fails("Edit", in{"file_path": "f", "old_string": c.old, "new_string": "NEW"}, "String to replace not found")
			if b.content("f") != c.file {
				t.Errorf("%q", b.content("f"))
			}
		})
	}
}

func TestMultiEditMakesAllEditsOrNone(t *testing.T) {
	b := newBench(t)
	b.put("f", "one\ntwo\nthree\n")
	edits := func(list ...in) in { return in{"file_path": "f", "edits": list} }
	b.fails("MultiEdit", edits(in{"old_string": "one", "new_string": "1"}), "has not been read")
	b.read("f")
	b.fails("MultiEdit", edits(in{"old_string": "one", "new_string": "1"}, in{"old_string": "nope", "new_string": "2"}),
		"edit 2 of 2", "No edit was made")
	b.fails("MultiEdit", edits(in{"old_string": "one", "new_string": "one"}), "edit 1 of 1", "same")
	b.fails("MultiEdit", edits(), "empty")
	if got := b.content("f"); got != "one\ntwo\nthree\n" {
		t.Errorf("%q", got)
	}
	got := b.must("MultiEdit", edits(in{"old_string": "one", "new_string": "1 e"},
		in{"old_string": "1 e\ntwo", "new_string": "1\n2"}, in{"old_string": "e", "new_string": "E", "replace_all": true}))
	wantIn(t, got, "3 edits, 4 replacements")
	if got := b.content("f"); got != "1\n2\nthrEE\n" {
		t.Errorf("%q", got)
	}
	b.must("MultiEdit", in{"file_path": "new.txt", "edits": []in{
		{"old_string": "", "new_string": "a\n"},
		{"old_string": "a", "new_string": "b"},
	}})
	if got := b.content("new.txt"); got != "b\n" {
		t.Errorf("%q", got)
	}
}

// FuzzEdit: no edit panics; one that works changes nothing but one place, and one that fails nothing at all.
func FuzzEdit(f *testing.F) {
	f.Add("a  \nb\t\nc\n", "a\nb\n", "A\nB\n")
	f.Add("x:\n    if a:\n        b()\r\n", "if a:\n    b()\n", "if a:\n    c()\n")
	f.Add("a\n\tb \"q\"\nc\n", `a\n\tb \"q\"`, `A\n\tB \"q\"`)
	f.Add("one\ntwo\nthree", "2\ttwo\n3\tthree\n", "2\tTWO\n3\tTHREE\n")
	f.Add("say(“hi…”)  \n\ta – b\n", "(\"hi...\")\n\ta", "x")
	f.Add("\xff\xfea\x00b\x00", "a", "“")
	f.Fuzz(func(t *testing.T, file, old, fresh string) {
		b := newBench(t)
		b.put("f", file)
		if _, err := b.call("Read", in{"file_path": "f"}); err != nil {
			return
		}
		_, err := b.call("Edit", in{"file_path": "f", "old_string": old, "new_string": fresh})
		got := b.content("f")
		if err != nil && got != file {
			t.Fatalf("it failed (%v) and changed the file", err)
		}
		if gone := removed(file, got); err == nil && utf8.ValidString(file) && !subsequence(lettersOf(gone), lettersOf(old)) {
			t.Fatalf("%q is gone from %q, for %q", gone, file, old)
		}
	})
}

// removed is what stood between the beginning and the end that two texts share.
func removed(before, after string) string {
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return before
}

func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, s)
}

// subsequence reports whether all of part is in whole, in its order.
func subsequence(part, whole string) bool {
	for i := 0; i < len(whole) && part != ""; i++ {
		if whole[i] == part[0] {
			part = part[1:]
		}
	}
	return part == ""
}

func TestEditsOfOneStepThatOverlapNameTheNextMove(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one\ntwo\nthree\n")
	b.read("a.txt")
	var plans []*agent.Plan
	for _, e := range []in{
		{"file_path": "a.txt", "old_string": "one\ntwo", "new_string": "1\n2"},
		{"file_path": "a.txt", "old_string": "two\nthree", "new_string": "2\n3"},
	} {
		plan, err := b.prepare("Edit", e)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(plan.Close)
		plans = append(plans, plan)
	}
	if _, err := plans[0].Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := plans[1].Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "an earlier Edit of the same reply has changed the file") ||
		!strings.Contains(err.Error(), "now:\n1\t1\n2\t2\n3\tthree\n") {
		t.Errorf("%v", err)
	}
	b.fails("Edit", in{"file_path": "a.txt", "old_string": "two\nthree", "new_string": "x"},
		"The nearest lines are now:\n1\t1\n2\t2\n3\tthree\n")
	if got := b.content("a.txt"); got != "1\n2\nthree\n" {
		t.Errorf("%q", got)
	}
}
