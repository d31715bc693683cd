package frontmatter_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
)

func TestParseSplitsBlockAndBody(t *testing.T) {
	for _, c := range []struct {
		name, src, body string
		line            int
		fields          frontmatter.Fields
	}{
		{"no block", "# Title\n", "# Title\n", 1, nil},
		{"block", "---\nname: a\n---\nbody\n", "body\n", 4, frontmatter.Fields{"name": "a"}},
		{
			"windows line ends and a mark", "\xef\xbb\xbf---\r\nname: a\r\n---\r\nbody\r\n", "body\n", 4,
			frontmatter.Fields{"name": "a"},
		},
		{"empty block", "---\n---\nbody", "body", 3, frontmatter.Fields(nil)},
		{"no body", "---\nname: a\n---", "", 4, frontmatter.Fields{"name": "a"}},
		{"not closed", "---\nname: a\n", "---\nname: a\n", 1, nil},
		{"a rule in the text", "text\n---\nmore\n---\n", "text\n---\nmore\n---\n", 1, nil},
		{"four dashes are a rule", "----\nname: a\n---\n", "----\nname: a\n---\n", 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := frontmatter.Parse([]byte(c.src))
			if d.Body != c.body || d.Line != c.line || d.Problem != "" {
				t.Errorf("body %q at line %d, problem %q; want %q at %d", d.Body, d.Line, d.Problem, c.body, c.line)
			}
			if diff := cmp.Diff(c.fields, d.Fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseReadsWhatYAMLRejects(t *testing.T) {
	d := frontmatter.Parse([]byte(`---
name: reviewer
description: Use when: a change is to be reviewed. Examples: "x"
tools: Read, Grep, Bash(git log:*)
paths:
  - src/**
  - "*.go"
note: one
  two
---
Body`))
	if d.Problem == "" {
		t.Fatal("YAML accepts this block: the fallback is not tried")
	}
	if got, want := d.Fields.Text("description"), `Use when: a change is to be reviewed. Examples: "x"`; got != want {
		t.Errorf("description %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"Read", "Grep", "Bash(git log:*)"}, d.Fields.List("tools")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"src/**", "*.go"}, d.Fields.List("paths")); diff != "" {
		t.Error(diff)
	}
	if got := d.Fields.Text("note"); got != "one two" {
		t.Errorf("note %q", got)
	}
	if d.Body != "Body" {
		t.Errorf("body %q", d.Body)
	}
}

func TestABracketBeforeOtherTextIsNoYAMLList(t *testing.T) {
	for line, want := range map[string]string{
		"[a] [b]":                       "[a] [b]",
		"[file] [--flag x] # the names": "[file] [--flag x] # the names",
		"[it's] <b>":                    "[it's] <b>",
		"[a|b], then [c]":               "[a|b], then [c]",
		"[a [b]] [c]":                   "[a [b]] [c]",
		"[a, b]":                        "a, b",
		"[a: 1] [b: 2]":                 "[a: 1] [b: 2]",
	} {
		d := frontmatter.Parse([]byte("---\nargument-hint: " + line + "\npaths: [x, y]\n---\n"))
		if got := d.Fields.Text("argument-hint"); got != want || d.Problem != "" {
			t.Errorf("%s: %q, %q", line, got, d.Problem)
		}
		if got := d.Fields.List("paths"); len(got) != 2 {
			t.Errorf("%s: the line below has %q", line, got)
		}
	}
	d := frontmatter.Parse([]byte("---\nargument-hint: [a] [b]\ndescription: use: it\n---\n"))
	if got := d.Fields.Text("argument-hint"); got != "[a] [b]" || d.Problem == "" {
		t.Errorf("beside a line that is wrong: %q, %q", got, d.Problem)
	}
}

func TestFieldsConvert(t *testing.T) {
	f := frontmatter.Parse([]byte(`---
yes: yes
on: "on"
one: 1
no: off
word: maybe
number: 12
list: [a, b]
text: Read Grep
nested: {a: 1, b: [x, y]}
brace: "**/*.{ts,tsx}, *.md"
---
`)).Fields
	for name, want := range map[string]bool{"yes": true, "on": true, "one": true, "no": false} {
		if got, ok := f.Bool(name); !ok || got != want {
			t.Errorf("%s: %v %v, want %v", name, got, ok, want)
		}
	}
	if _, ok := f.Bool("word"); ok {
		t.Error("a word is no boolean")
	}
	if n, ok := f.Int("number"); !ok || n != 12 {
		t.Errorf("number %d %v", n, ok)
	}
	if got := f.Text("list"); got != "a, b" {
		t.Errorf("list as text: %q", got)
	}
	if diff := cmp.Diff([]string{"Read", "Grep"}, f.List("text")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"**/*.{ts,tsx}", "*.md"}, f.List("brace")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "x, y"}, f.Map("nested")); diff != "" {
		t.Error(diff)
	}
}

func TestParseBoundsHostileBlocks(t *testing.T) {
	bomb := "---\na: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		prev := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+prev+",", 9), ",") + "]\n"
	}
	bomb += "---\nbody"
	if d := frontmatter.Parse([]byte(bomb)); d.Body != "body" {
		t.Errorf("body %q", d.Body)
	}
	long := "---\nname: " + strings.Repeat("x", frontmatter.MaxBlock) + "\n---\nbody"
	if d := frontmatter.Parse([]byte(long)); d.Fields != nil || d.Body != long {
		t.Error("a block over the limit is to be body text")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\nname: a\ntools: [Read]\n---\nbody"))
	f.Add([]byte("---\na: b: c\n  - d\n---\n"))
	f.Add([]byte("---\n? [a]\n: {b: *c}\n---\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		d := frontmatter.Parse(src)
		if d.Line < 1 || len(d.Body) > 3*len(src)+3 {
			t.Fatalf("line %d, body of %d bytes from %d", d.Line, len(d.Body), len(src))
		}
		for name := range d.Fields {
			d.Fields.Text(name)
			d.Fields.List(name)
			d.Fields.Bool(name)
			d.Fields.Int(name)
			d.Fields.Map(name)
		}
	})
}
