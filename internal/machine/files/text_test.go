package files

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func utf16Bytes(order byteOrder, s string) []byte {
	out := order.AppendUint16(nil, 0xFEFF)
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

func TestEncodingsAreSeenAndKept(t *testing.T) {
	for _, c := range []struct {
		name     string
		raw      []byte
		view     string
		encoding Encoding
		want     []byte // after é becomes "ü\nx"
	}{
		{"utf-8", []byte("a é b\n"), "a é b\n", UTF8, []byte("a ü\nx b\n")},
		{"utf-8 with mark", []byte("\xEF\xBB\xBFa é\n"), "a é\n", UTF8, []byte("\xEF\xBB\xBFa ü\nx\n")},
		{"crlf", []byte("a\r\né\r\nb"), "a\né\nb", UTF8, []byte("a\r\nü\r\nx\r\nb")},
		{"utf-16 le", utf16Bytes(binary.LittleEndian, "a é 😀\n"), "a é 😀\n", UTF16LE, utf16Bytes(binary.LittleEndian,
			"a ü\nx 😀\n")},
		{"utf-16 be crlf", utf16Bytes(binary.BigEndian, "é\r\n"), "é\n", UTF16BE, utf16Bytes(binary.BigEndian, "ü\r\nx\r\n")},
		{"latin-1", []byte("a \xe9 b\xff\n"), "a é bÿ\n", Latin1, []byte("a \xfc\nx b\xff\n")},
		{"mixed", []byte("ö é \xff\xfe\n"), "ö é ÿþ\n", Mixed, []byte("ö ü\nx \xff\xfe\n")},
		{
			"half a pair", append(utf16Bytes(binary.LittleEndian, "é"), 0x00, 0xd8, 'z'), "é\uFFFD\uFFFD", UTF16LE,
			append(utf16Bytes(binary.LittleEndian, "ü\nx"), 0x00, 0xd8, 'z'),
		},
	} {
		text := Decode(c.raw)
		if text.View != c.view || text.Encoding != c.encoding {
			t.Errorf("%s: read as %q in %s, want %q in %s", c.name, text.View, text.Encoding, c.view, c.encoding)
			continue
		}
		i := strings.Index(text.View, "é")
		got, err := text.Replace([]Region{{i, i + len("é")}}, "ü\nx")
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s: edited to %q (%v), want %q", c.name, got, err, c.want)
		}
	}
}

func TestLatin1RefusesWhatItCannotHold(t *testing.T) {
	text := Decode([]byte("caf\xe9"))
	if _, err := text.Replace([]Region{{0, 1}}, "€"); err == nil || !strings.Contains(err.Error(), "Latin-1") {
		t.Errorf("error %v", err)
	}
	if got := text.Rewrite("100 €"); string(got) != "100 €" {
		t.Errorf("rewritten as %q", got)
	}
}

func TestRewriteKeepsTheForm(t *testing.T) {
	for _, c := range []struct{ old, content, want string }{
		{"\xEF\xBB\xBFa\r\nb\r\n", "x\ny\n", "\xEF\xBB\xBFx\r\ny\r\n"},
		{"a\r\nb\n", "x\ny\n", "x\ny\n"},       // mixed line ends: the content as it is
		{"a\r\nb\r\n", "x\r\ny\n", "x\r\ny\n"}, // the writer knows about line ends
		{"a\nb\n", "x\r\ny\r\n", "x\r\ny\r\n"},
		{"", "x\n", "x\n"},
		{string(utf16Bytes(binary.LittleEndian, "a")), "b", string(utf16Bytes(binary.LittleEndian, "b"))},
	} {
		if got := string(Decode([]byte(c.old)).Rewrite(c.content)); got != c.want {
			t.Errorf("%q rewritten with %q: %q, want %q", c.old, c.content, got, c.want)
		}
	}
}

// content makes files of every kind, many of them broken.
func content(t *rapid.T) []byte {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "foo", " ", "\t", "\n", "\r\n", "\r", "é", "漢", "😀", "\xff", "\xe9", "\xed\xa0\x80", "\x00", "\uFFFD",
		"\uFEFF",
	}), 0, 40).Draw(t, "parts")
	text := strings.Join(parts, "")
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 1:
		return append([]byte("\xEF\xBB\xBF"), text...)
	case 2:
		return append([]byte{0xFF, 0xFE}, text...)
	case 3:
		return append([]byte{0xFE, 0xFF}, text...)
	}
	return []byte(text)
}

func TestReplaceChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := content(t)
		text := Decode(raw)
		if !utf8.ValidString(text.View) {
			t.Fatalf("the view of %q is not UTF-8: %q", raw, text.View)
		}
		bounds := []int{}
		for i := range text.View {
			bounds = append(bounds, i)
		}
		bounds = append(bounds, len(text.View))
		i := rapid.IntRange(0, len(bounds)-1).Draw(t, "start")
		j := rapid.IntRange(i, len(bounds)-1).Draw(t, "end")
		g := Region{bounds[i], bounds[j]}
		o := text.rawOffsets([]int{g.Start, g.End})
		fresh := rapid.SampledFrom([]string{"", "x", "x\ny", "é\n"}).Draw(t, "new")
		got, err := text.Replace([]Region{g}, fresh)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if !bytes.HasPrefix(got, raw[:o[0]]) || !bytes.HasSuffix(got, raw[o[1]:]) {
			t.Fatalf("%q edited at %v to %q: bytes outside %v changed", raw, g, got, o)
		}
		same, err := text.Replace([]Region{g}, text.View[g.Start:g.End])
		if err != nil || !bytes.Equal(same, raw) {
			t.Fatalf("%q with %v replaced by itself: %q (%v)", raw, g, same, err)
		}
	})
}

func TestPlainContentRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		view := rapid.StringMatching(`(?:[a-zé漢 ]{0,5}\n?){0,6}`).Draw(t, "view")
		for _, old := range [][]byte{
			[]byte("x\n"), []byte("\xEF\xBB\xBFx"), []byte("x\r\n"),
			utf16Bytes(binary.BigEndian, "x\r\n"),
		} {
			if got := Decode(Decode(old).Rewrite(view)).View; got != view {
				t.Fatalf("%q over %q reads back as %q", view, old, got)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\r\nb"), 0, 1)
	f.Add([]byte{0xFF, 0xFE, 0, 0xd8}, 0, 0)
	f.Fuzz(func(t *testing.T, raw []byte, start, length int) {
		text := Decode(raw)
		if start < 0 || length < 0 || start > len(text.View) || length > len(text.View)-start {
			return
		}
		if !startsRune(text.View, start) || !startsRune(text.View, start+length) {
			return
		}
		same, err := text.Replace([]Region{{start, start + length}}, text.View[start:start+length])
		if err != nil || !bytes.Equal(same, raw) {
			t.Fatalf("%q: %q, %v", raw, same, err)
		}
	})
}

func TestBinaryFilesAreKnownByTheirFirstBytes(t *testing.T) {
	for head, want := range map[string]bool{
		"package main\n":                      false,
		"":                                    false,
		"\x1b[31mred\x1b[0m\n":                false,
		"caf\xe9 latin\n":                     false,
		"a\x00b":                              true,
		"\xff\xfea\x00":                       false,
		"\xff\xfe\x00\x00a\x00\x00\x00":       true,
		"%PDF-1.7\n":                          true,
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR": true,
	} {
		if got := Binary([]byte(head)); got != want {
			t.Errorf("%q: binary %v", head, got)
		}
	}
}
