package shell

import (
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

func seed(f *testing.F) {
	for _, name := range []string{"harmless.txt", "ask.txt", "deny.txt", "ordinary.txt"} {
		for _, line := range permissiontest.Lines(f, name) {
			f.Add(line)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, line string) {
		start := time.Now()
		read(line)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q took %s", line, took)
		}
	})
}

func FuzzMoreMembersNeverWeaken(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, line string) {
		if _, err := parse(line); err != nil || strings.HasSuffix(line, `\`) {
			t.Skip()
		}
		before := read(line)
		for _, more := range []string{"; ls", " && ls", " | cat"} {
			if _, err := parse(line + more); err != nil {
				continue
			}
			after := read(line + more)
			if !approved(before) && approved(after) && len(before.Command.Parts) > 0 || denied(before) && !denied(after) {
				t.Errorf("%q weakens %q: %s", more, line, show(after))
			}
		}
	})
}

func FuzzQuotingNeverHidesADisaster(f *testing.F) {
	for i := range 12 {
		f.Add(uint(i), uint(i))
	}
	lines := permissiontest.Lines(f, "deny.txt")
	f.Fuzz(func(t *testing.T, which, where uint) {
		line := lines[which%uint(len(lines))]
		name, rest, ok := strings.Cut(line, " ")
		if !ok || !plainFirst.MatchString(line) || respelled(line) == nil {
			t.Skip()
		}
		at := int(where % uint(len(name)))
		marks := []string{"''", `""`, `\`, "$''"}
		text := name[:at] + marks[int(where/7)%len(marks)] + name[at:] + " " + rest
		if r := read(text); !denied(r) {
			t.Errorf("%q is not refused: %s", text, show(r))
		}
	})
}

func BenchmarkOrdinary(b *testing.B) {
	for b.Loop() {
		read("git log --oneline -5 | head -3 && grep -rn 'func main' src")
	}
}

func BenchmarkTenThousandCharacters(b *testing.B) {
	lines := map[string]string{
		"list":   strings.Repeat("true; ", maxLine/6),
		"pipes":  strings.TrimSuffix(strings.Repeat("cat|", maxLine/4), "|"),
		"nested": strings.Repeat("$(echo ", maxLine/8) + "x" + strings.Repeat(")", maxLine/8),
		"word":   "echo " + strings.Repeat("a", maxLine-10),
		"words":  "echo " + strings.Repeat("a ", maxLine/2-10),
		"quotes": "echo " + strings.Repeat("'a'\"b\"", maxLine/6-10),
		"params": "echo " + strings.Repeat("${x:-", maxLine/7) + strings.Repeat("}", maxLine/7),
		"braces": "echo " + strings.Repeat("{a,b}", maxLine/5-10),
		"broken": strings.Repeat("(", maxLine-1),
		"redirs": "ls " + strings.Repeat(">a ", maxLine/3-10),
		"vars":   strings.Repeat("a=$a$a;", maxLine/7-1),
	}
	for name, line := range lines {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				read(line)
			}
		})
	}
}
