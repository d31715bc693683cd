package gfm

import "testing"

func TestURLsAreFoundInText(t *testing.T) {
	for in, want := range map[string]string{
		"see https://a.example/b, c": "https://a.example/b", "(www.a.example)": "www.a.example", "https://": "",
		"www.": "", "www": "", "a www.": "", "xhttps://a.example": "",
	} {
		got := ""
		if at, end := BareURL(in); at >= 0 {
			got = in[at:end]
		}
		if got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}
