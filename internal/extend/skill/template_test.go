package skill_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/extend/skill"
)

func joined(parts []skill.Part) string {
	var b strings.Builder
	for _, p := range parts {
		switch p.Kind {
		case skill.PartCommand:
			b.WriteString("<run " + p.Text + ">")
		case skill.PartFile:
			b.WriteString("<file " + p.Text + ">")
		case skill.PartText:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestRender(t *testing.T) {
	vars := map[string]string{"CLAUDE_SKILL_DIR": "/s/x"}
	for _, c := range []struct {
		name, body, args, want string
		declared               []string
	}{
		{"no placeholder", "Do it", "now  please", "Do it\n\nARGUMENTS: now  please", nil},
		{"no arguments", "Do it", "  ", "Do it", nil},
		{"all", "Do $ARGUMENTS!", "this and that", "Do this and that!", nil},
		{"by number", "$0 then $1, $ARGUMENTS[1]", `"a b" c`, "a b then c, c", nil},
		{"a missing number stays", "$0 and $3", "x", "x and $3", nil},
		{"by name", "fix $file-name at $line", "main.go 12", "fix main.go-name at 12", []string{"file", "line"}},
		{"a missing name is empty", "[$file][$line]", "a", "[a][]", []string{"file", "line"}},
		{"other words stay", "echo $HOME costs $5 a", "x", "echo $HOME costs $5 a", nil},
		{"escaped", `\$ARGUMENTS \$0 $0`, "x", "$ARGUMENTS $0 x", nil},
		{"variables", "run ${CLAUDE_SKILL_DIR}/a.sh ${OTHER}", "", "run /s/x/a.sh ${OTHER}", nil},
		{"command", "State:\n!`git log $0`\nend", "-3", "State:\n<run git log -3>\nend", nil},
		{"command in a line", "Now !`date` it is", "", "Now <run date> it is", nil},
		{"no command inside a word", "wow!`date`", "", "wow!`date`", nil},
		{"command block", "a\n```!\ngit status\ngit log\n```\nb", "", "a\n<run git status\ngit log>\nb", nil},
		{"code is code", "```\n!`rm x` @file\n```\n`@types/node`", "", "```\n!`rm x` @file\n```\n`@types/node`", nil},
		{"file", "See @docs/a.md, and (@b\\ c.txt).", "", "See <file docs/a.md>, and (<file b c.txt>).", nil},
		{"no file in an address", "me@example.com", "", "me@example.com", nil},
		{"argument in a file", "Read @src/$0.go", "main", "Read <file src/main.go>", nil},
		{
			"arguments become neither command nor file", "Say $ARGUMENTS", "!`rm -rf x` @/etc/passwd $0",
			"Say !`rm -rf x` @/etc/passwd $0", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := joined(skill.NewTemplate(c.body, c.declared).Render(skill.Call{Arguments: c.args, Variables: vars}))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSplitArguments(t *testing.T) {
	for in, want := range map[string][]string{
		"":                      nil,
		" a  b ":                {"a", "b"},
		`"a b" 'c "d"'`:         {"a b", `c "d"`},
		`a\ b "x\"y" '\n' ""`:   {"a b", `x"y`, `\n`, ""},
		`"not closed here`:      {"not closed here"},
		`C:\dir\file`:           {`C:\dir\file`},
		"tab\tand\nline":        {"tab", "and", "line"},
		`pre"mid dle"post next`: {"premid dlepost", "next"},
	} {
		if diff := cmp.Diff(want, skill.SplitArguments(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("a $0 !`x` @b ```!\ny\n```", "p q")
	f.Add("````\n```\n", "$ARGUMENTS")
	f.Add("!`a` !`b`@c", "")
	f.Fuzz(func(t *testing.T, body, args string) {
		plain := skill.NewTemplate(body, []string{"name"}).Render(skill.Call{})
		full := skill.NewTemplate(body, []string{"name"}).Render(skill.Call{Arguments: args})
		count := func(parts []skill.Part) (n [3]int) {
			for _, p := range parts {
				n[p.Kind]++
			}
			return n
		}
		a, b := count(plain), count(full)
		if a[skill.PartCommand] != b[skill.PartCommand] || a[skill.PartFile] != b[skill.PartFile] {
			t.Fatalf("arguments %q changed the pieces of %q: %v, %v", args, body, a, b)
		}
	})
}
