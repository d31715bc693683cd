package telegram

import (
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func TestMarkdownBecomesEntities(t *testing.T) {
	text, list := Entities("# Title\n\nSome **bold** and `code`, 😀 *it*.\n\n```go\nx := 1\n```\n\n- [x] done\n- open\n\n" +
		"| a | bb |\n|---|---|\n| 1 | 2 |\n\n[link](https://example.com)")
	want := "Title\n\nSome bold and code, 😀 it.\n\nx := 1\n\n☑ done\n• open\n\na  bb\n1  2\n\nlink"
	if text != want {
		t.Errorf("%q\n%q", text, want)
	}
	units := utf16.Encode([]rune(text))
	got := map[string]string{}
	for _, e := range list {
		got[e.Type] = string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
	}
	for kind, of := range map[string]string{
		"italic": "it", "code": "code", "text_link": "link", "pre": "a  bb\n1  2",
	} {
		if got[kind] != of {
			t.Errorf("%s: %q", kind, got[kind])
		}
	}
}

func TestEntitiesAreWithinTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, list := Entities(rapid.String().Draw(t, "markdown"))
		n := len(utf16.Encode([]rune(text)))
		for _, e := range list {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > n {
				t.Fatalf("%+v of %d", e, n)
			}
		}
	})
}
