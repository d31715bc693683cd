package conversation

import (
	"slices"
	"strings"
	"testing"
)

func TestMentionsAreFound(t *testing.T) {
	there := []string{"a.go", "docs/", "my notes.txt", "odd,", "@scope/x", "v1.2", "c#Lisp"}
	exists := func(p string) bool { return slices.Contains(there, p) }
	for _, tt := range []struct {
		text string
		want []mention
	}{
		{"@a.go", []mention{{Path: "a.go"}}},
		{"fix @a.go, then (@docs/).", []mention{{Path: "a.go"}, {Path: "docs/"}}},
		{"line\n@a.go\n@a.go", []mention{{Path: "a.go"}}},
		{`see @"my notes.txt" please`, []mention{{Path: "my notes.txt"}}},
		{`see @"my notes.txt"#L3-4.`, []mention{{Path: "my notes.txt", First: 3, Last: 4}}},
		{"@a.go#L10-20 @a.go#L5 @a.go#L7-L9", []mention{{"a.go", 10, 20}, {"a.go", 5, 5}, {"a.go", 7, 9}}},
		{"@a.go#L20-10 @a.go#L0 @a.go#Lx", nil},
		{"@a.go#L99999999999999999999", nil},
		{"@odd, and @v1.2.", []mention{{Path: "odd,"}, {Path: "v1.2"}}},
		{"@@scope/x", []mention{{Path: "@scope/x"}}},
		{"@c#Lisp", []mention{{Path: "c#Lisp"}}},
		{"me@a.go, @missing, @ and @\"", nil},
		{"@\"a\n.go\" @a.go", []mention{{Path: "a.go"}}},
	} {
		if got, _ := mentionsIn(tt.text, exists); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestMentionsThatAreNoFileAreNamed(t *testing.T) {
	none := func(string) bool { return false }
	for text, want := range map[string]string{
		"see @src/mian.go, please": "src/mian.go", "@notes.txt": "notes.txt", "@\"my notes.md\"": "my notes.md",
		"me@a.go @scope/pkg @user @Override @types/node v1@2.3 @x:y.z": "",
	} {
		if _, missed := mentionsIn(text, none); strings.Join(missed, " ") != want {
			t.Errorf("%q: %q", text, missed)
		}
	}
}
