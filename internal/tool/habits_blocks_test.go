package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/tool"
)

// blocksOf writes blocks in the manner of aider and Roo.
func blocksOf(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString("<<<<<<< SEARCH\n" + pairs[i] + "=======\n" + pairs[i+1] + ">>>>>>> REPLACE\n\n")
	}
	return b.String()
}

func TestBlocksOfOtherAgentsChangeWholeLines(t *testing.T) {
	cline := func(s string) string {
		return strings.NewReplacer("<<<<<<< SEARCH", "------- SEARCH", ">>>>>>> REPLACE", "+++++++ REPLACE").Replace(s)
	}
	for _, c := range []struct{ name, before, diff, after, err string }{
		{"one block", "one\ntwo\nthree\n", blocksOf("two\n", "2\n"), "one\n2\nthree\n", ""},
		{"a line within a longer one", "max = 10\n", blocksOf("x = 1\n", "y = 2\n"), "", "not in the file"},
		{"the end of a longer line", "a max = 1\nx = 1\n", blocksOf("x = 1\n", "y = 2\n"), "a max = 1\ny = 2\n", ""},
		{
			"a removed line takes its end along", "l1\nl2\nl3\nl4", cline(blocksOf("l1\n", "", "l3\n", "new\n")), "l2\nnew\nl4",
			"",
		},
		{"replaced, then removed", "l1\nl2\nl3\nl4", cline(blocksOf("l2\n", "new\n", "l4\n", "")), "l1\nnew\nl3\n", ""},
		{
			"out of order", "first\nsecond\nthird\nfourth\n", cline(blocksOf("fourth\n", "4\n", "second\n", "2\n")),
			"first\n2\nthird\n4\n", "",
		},
		{"what a block before wrote", "a\n", blocksOf("a\n", "b\nc\n", "c\n", "d\n"), "b\nd\n", ""},
		{
			"missing indentation", "    line1\n    line2\n    line3\n", blocksOf("line1\nline2\n", "new1\n    new2\n"),
			"    new1\n        new2\n    line3\n", "",
		},
		{
			"too much indentation", "if x {\n  y()\n}\n", blocksOf("  if x {\n    y()\n  }\n", "  if x {\n    z()\n  }\n"),
			"if x {\n  z()\n}\n", "",
		},
		{"CRLF of the file", "a\r\nb\r\n", blocksOf("b\n", "c\nd\n"), "a\r\nc\r\nd\r\n", ""},
		{"CRLF of the block", "a\nb\n", strings.ReplaceAll(blocksOf("b\n", "c\n"), "\n", "\r\n"), "a\nc\n", ""},
		{
			"hints say which", "x\na\nx\nb\nx\n", "<<<<<<< SEARCH\n:start_line:5\n-------\nx\n=======\ny\n>>>>>>> " +
				"REPLACE\n<<<<<<< SEARCH\n:start_line: [3]\n:end_line:3\n-------\nx\n=======\nz\nz\n>>>>>>> REPLACE",
			"x\na\nz\nz\nb\ny\n", "",
		},
		{"numbers of lines", "func f() {\n\treturn true\n}\n", blocksOf("1 | func f() {\n2 | \treturn true\n3 | }\n",
			"1 | func f() {\n2 | \treturn false\n3 | }\n"), "func f() {\n\treturn false\n}\n", ""},
		{"numbers that are content", "| 1 | one |\n", blocksOf("| 1 | one |\n", "| 2 | two |\n"), "| 2 | two |\n", ""},
		{
			"masked marks", "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n",
			blocksOf("\\<<<<<<< HEAD\nb\n\\=======\nc\n\\>>>>>>> x\n", "b\n"), "a\nb\n", "",
		},
		{
			"a heading underlined", "Title\n==========\ntext\n", blocksOf("Title\n==========\n", "Name\n==========\n"),
			"Name\n==========\ntext\n", "",
		},
		{"a kept line keeps its spaces", "keep  \nold\n", blocksOf("keep\nold\n", "keep\nnew\n"), "keep  \nnew\n", ""},
		{"two separators", "a\nb\n", blocksOf("a\n=======\nb\n", "c\n"), "", "patch"},
		{"no end", "a\n", "<<<<<<< SEARCH\na\n=======\nb\n", "", "patch"},
		{"no separator", "a\n", "<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "", "patch"},
		{"nothing alike", "a\n", blocksOf("completely different\n", "b\n"), "", "not in the file"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			b.put("a.txt", c.before)
			b.read("a.txt")
			err := b.habit("apply_diff", in{"path": "a.txt", "diff": c.diff})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %q", err, c.err)
				}
				c.after = c.before
			} else if err != nil {
				t.Fatal(err)
			}
			if got := b.all()["a.txt"]; got != c.after {
				t.Errorf("%q, want %q", got, c.after)
			}
		})
	}
}

func TestBlocksNameSeveralFiles(t *testing.T) {
	b := newBench(t)
	b.put("src/a.go", "x\ny\n")
	b.put("b.go", "x\n")
	diff := "First:\n\nsrc/a.go\n```go\n" + blocksOf("x\n", "1\n", "y\n", "2\n") + "```\n\n**b.go**\n" +
		blocksOf("x\n", "3\n")
	if err := b.habit("apply_patch", in{"patch": diff}); err != nil {
		t.Fatal(err)
	}
	if got := b.all(); got["src/a.go"] != "1\n2\n" || got["b.go"] != "3\n" {
		t.Errorf("%q", got)
	}
}

func TestABlockWithoutATextToFindMakesAFile(t *testing.T) {
	b := newBench(t)
	if err := b.habit("replace_in_file", in{"path": "new/f.txt", "diff": blocksOf("", "content\n")}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(b.dir, "new/f.txt")); string(data) != "content\n" {
		t.Errorf("%q %v", data, err)
	}
	if err := b.habit("replace_in_file", in{"path": "new/f.txt", "diff": blocksOf("", "other\n")}); err == nil {
		t.Error("it replaced a file that has content")
	}
}

// habit makes a call in the manner of another agent.
func (b *bench) habit(name string, input in) error {
	b.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.t.Fatal(err)
	}
	to, mended := tool.HabitsOf(tool.Catalogue())(name, raw)
	if mended == nil {
		mended = raw
	}
	var fields in
	if err := json.Unmarshal(mended, &fields); err != nil {
		b.t.Fatal(err)
	}
	_, err = b.call(to, fields)
	return err
}

// TestInsertionsOfOtherAgentsGoBelowTheLineTheyName: insert_line counts the lines above, Roo's line is the one that
// comes to stand below, and 0 the end.
func TestInsertionsOfOtherAgentsGoBelowTheLineTheyName(t *testing.T) {
	for _, c := range []struct {
		name  string
		input in
		after string
	}{
		{
			"str_replace_editor",
			in{"command": "insert", "path": "a.txt", "insert_line": 2, "new_str": "new"},
			"1\n2\nnew\n3\n",
		},
		{
			"str_replace_based_edit_tool",
			in{"command": "insert", "path": "a.txt", "insert_line": 0, "insert_text": "new\n"},
			"new\n1\n2\n3\n",
		},
		{
			"str_replace_editor",
			in{"command": "insert", "path": "a.txt", "insert_line": "3", "new_str": "x\n\ny"},
			"1\n2\n3\nx\n\ny\n",
		},
		{"insert_content", in{"path": "a.txt", "line": 2, "content": "new"}, "1\nnew\n2\n3\n"},
		{"insert_content", in{"path": "a.txt", "line": 1, "content": "new"}, "new\n1\n2\n3\n"},
		{"insert_content", in{"path": "a.txt", "line": 0, "content": "new"}, "1\n2\n3\nnew\n"},
	} {
		b := newBench(t)
		b.put("a.txt", "1\n2\n3\n")
		if err := b.habit(c.name, c.input); err == nil || !strings.Contains(err.Error(), "read") {
			t.Errorf("%v: an insertion by number into a file that was not read: %v", c.input, err)
		}
		b.read("a.txt")
		if err := b.habit(c.name, c.input); err != nil {
			t.Errorf("%v: %v", c.input, err)
		}
		if got := b.all()["a.txt"]; got != c.after {
			t.Errorf("%v: %q, want %q", c.input, got, c.after)
		}
	}
}
