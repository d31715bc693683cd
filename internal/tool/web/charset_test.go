package web

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
)

func TestPagesAreReadInTheCharsetThatTheyName(t *testing.T) {
	for _, tt := range []struct {
		name, kind, head, text string
		in                     encoding.Encoding
	}{
		{"the header", "text/html; charset=Shift_JIS", "", "日本語のページ", japanese.ShiftJIS},
		{"the header in quotes", `text/html; charset="windows-1251"`, "", "Привет", charmap.Windows1251},
		{"a meta element", "text/html", `<!doctype html><meta name=x><META CHARSET="gbk">`, "中文网页", simplifiedchinese.GBK},
		{
			"a content", "text/html", `<meta http-equiv="Content-Type" content="text/html; charset=euc-jp">`, "日本語",
			japanese.EUCJP,
		},
		{
			"the header before the meta element", "text/html; charset=windows-1252", `<meta charset="gbk">`, "Straße",
			charmap.Windows1252,
		},
		{"only seven bits", "text/html; charset=iso-2022-jp", "", "日本語", japanese.ISO2022JP},
		{"a plain text", "text/plain; charset=koi8-r", "", "Привет", charmap.KOI8R},
	} {
		body, err := tt.in.NewEncoder().Bytes([]byte(tt.head + "<p>" + tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(inUTF8(body, tt.kind)); got != tt.head+"<p>"+tt.text {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
	for name, tt := range map[string][2]string{
		"UTF-8 whatever it says":         {"text/html; charset=iso-8859-1", "Straße 日本"},
		"an unknown charset":             {"text/html; charset=klingon", "Stra\xdfe"},
		"no charset":                     {"text/html", "Stra\xdfe"},
		"a charset far into the page":    {"text/html", strings.Repeat(" ", metaMax) + "<meta charset=gbk>\xd6\xd0"},
		"a charset that is none":         {"text/html", "<meta charset>\xd6"},
		"an image":                       {"image/png; charset=gbk", "\x89PNG\xd6\xd0"},
		"a byte order mark":              {"text/html; charset=gbk", "\xff\xfea\x00"},
		"a charset that hides its text":  {"text/html; charset=hz-gb-2312", "\xd6\xd0"},
		"colours in a text in UTF-8":     {"text/plain; charset=utf-8", "\x1b[31mStraße"},
		"colours in a text, no charset":  {"text/plain", "\x1b[31mplain"},
		"a Content-Type that is no such": {";;;", "Stra\xdfe"},
	} {
		if got := string(inUTF8([]byte(tt[1]), tt[0])); got != tt[1] {
			t.Errorf("%s: %q became %q", name, tt[1], got)
		}
	}
}
