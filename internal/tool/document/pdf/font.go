package pdf

import (
	_ "embed"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Font turns the codes of strings into text, and knows how wide they are.
type Font struct {
	wide     bool // codes of two bytes, where cmap does not say
	names    [256]string
	cmap     *cmap
	utf16    bool // the codes are UTF-16
	widths   map[int]float64
	standard float64
}

// Font is a font of the resources.
func (r *Reader) Font(v any) *Font {
	d := r.Dict(v)
	f := &Font{widths: map[int]float64{}, standard: 500, wide: r.Name(d["Subtype"]) == "Type0"}
	if s, ok := r.Value(d["ToUnicode"]).(*Stream); ok {
		f.cmap = readCMap(s.Bytes())
	}
	if f.wide {
		encoding := string(r.Name(d["Encoding"]))
		f.utf16 = strings.Contains(encoding, "UCS2") || strings.Contains(encoding, "UTF16")
		f.wideWidths(r, d)
		return f
	}
	f.encoding(r, d)
	firstChar := int(r.Number(d["FirstChar"]))
	for i, w := range r.numbers(d["Widths"]) {
		f.widths[firstChar+i] = w
	}
	if w := r.Number(r.Dict(d["FontDescriptor"])["MissingWidth"]); w > 0 {
		f.standard = w
	}
	if r.Name(d["Subtype"]) == "Type3" { // its widths are in units of its own
		if m := r.numbers(d["FontMatrix"]); len(m) == 6 {
			for c, w := range f.widths {
				f.widths[c] = w * m[0] * 1000
			}
		}
	}
	return f
}

// wideWidths reads the widths of a font of two-byte codes: "first [w w w]" or "first last w" (section 9.7.4.3).
func (f *Font) wideWidths(r *Reader, d Dict) {
	below := r.Array(d["DescendantFonts"])
	if len(below) == 0 {
		return
	}
	cid := r.Dict(below[0])
	f.standard = 1000
	if w, ok := r.Value(cid["DW"]).(float64); ok {
		f.standard = w
	}
	list := r.Array(cid["W"])
	for i := 0; i+1 < len(list); {
		from := int(r.Number(list[i]))
		if each := r.numbers(list[i+1]); each != nil {
			for k, w := range each {
				f.widths[from+k] = w
			}
			i += 2
			continue
		}
		if i+2 >= len(list) {
			return
		}
		for code := from; code <= int(r.Number(list[i+1])) && code < from+1<<16; code++ {
			f.widths[code] = r.Number(list[i+2])
		}
		i += 3
	}
}

// encoding reads which glyph each code of a simple font stands for.
func (f *Font) encoding(r *Reader, d Dict) {
	v := r.Value(d["Encoding"])
	base, _ := v.(Name)
	differences, _ := v.(Dict)
	if differences != nil {
		base = r.Name(differences["BaseEncoding"])
	}
	for code := range f.names {
		f.names[code] = baseText(base, byte(code))
	}
	code := 0
	for _, e := range r.Array(differences["Differences"]) {
		switch e := r.Value(e).(type) {
		case float64:
			code = int(e)
		case Name:
			if code >= 0 && code < 256 {
				f.names[code] = glyph(string(e))
			}
			code++
		}
	}
}

func baseText(base Name, code byte) string {
	i := strings.IndexByte(standardCodes, code)
	switch {
	case base == "MacRomanEncoding" && code >= 0x80:
		return nth(macText, int(code)-0x80)
	case base != "MacRomanEncoding" && base != "WinAnsiEncoding" && i >= 0:
		return nth(standardText, i)
	case code >= 0x80 && code < 0xa0:
		return nth(windowsText, int(code)-0x80)
	}
	return string(rune(code))
}

func nth(text string, i int) string {
	for _, c := range text {
		if i--; i < 0 {
			return string(c)
		}
	}
	return ""
}

// The characters of the codes from 0x80; WinAnsiEncoding goes on as Latin-1 after these.
const (
	windowsText = "€•‚ƒ„…†‡ˆ‰Š‹Œ•Ž••‘’“”•–—˜™š›œ•žŸ"
	macText     = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø" +
		"¿¡¬√ƒ≈∆«»…\u00a0ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\uf8ffÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ"
)

// StandardEncoding, where it is not ASCII (annex D). Other codes are taken as Windows has them.
const (
	standardCodes = "'`" +
		"\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf\xb1\xb2\xb3\xb4\xb6\xb7\xb8\xb9\xba\xbb\xbc\xbd\xbf" +
		"\xc1\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xca\xcb\xcd\xce\xcf\xd0\xe1\xe3\xe8\xe9\xea\xeb\xf1\xf5\xf8\xf9\xfa\xfb"
	standardText = "’‘" + "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ–†‡·¶•‚„”»…‰¿" +
		"`´ˆ˜¯˘˙¨˚¸˝˛ˇ—ÆªŁØŒºæıłøœß"
)

// glyphs has a line for each name of a glyph and its character (Adobe Glyph List), where fonts without a table of their
// own use it.
//
//go:embed glyphs.txt
var glyphs string

// glyph is the text of a glyph's name: one of the list, "uni" or "u" with the code, parts joined by "_". A suffix after
// a dot is a variant.
func glyph(name string) string {
	name, _, _ = strings.Cut(name, ".")
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(glyphPart(part))
	}
	return b.String()
}

func glyphPart(name string) string {
	if name == "" || strings.ContainsAny(name, " \n") {
		return ""
	}
	at := 0
	if !strings.HasPrefix(glyphs, name+" ") {
		if at = strings.Index(glyphs, "\n"+name+" "); at < 0 {
			return uniName(name)
		}
		at++
	}
	line, _, _ := strings.Cut(glyphs[at:], "\n")
	_, code, _ := strings.Cut(line, " ")
	return fromHex(code)
}

func uniName(name string) string {
	if code, ok := strings.CutPrefix(name, "uni"); ok && len(code) >= 4 && len(code)%4 == 0 {
		var b strings.Builder
		for ; code != ""; code = code[4:] {
			b.WriteString(fromHex(code[:4]))
		}
		return b.String()
	}
	if code, ok := strings.CutPrefix(name, "u"); ok && len(code) >= 4 && len(code) <= 6 {
		return fromHex(code)
	}
	return ""
}

func fromHex(code string) string {
	n, err := strconv.ParseUint(code, 16, 21)
	if err != nil {
		return ""
	}
	return string(rune(n)) //nolint:gosec // 21 bits
}

// Width is the width of a code in thousandths of the size of the font.
func (f *Font) Width(code int) float64 {
	if w, ok := f.widths[code]; ok {
		return w
	}
	return f.standard
}

// Each calls do for each code of a string: its text, the code, and how many bytes it has.
func (f *Font) Each(s String, do func(text string, code, bytes int)) {
	for len(s) > 0 {
		n := f.length(s)
		code := 0
		for i := range n {
			code = code<<8 | int(s[i])
		}
		do(f.text(string(s[:n]), code), code, n)
		s = s[n:]
	}
}

// length is how many bytes the first code has.
func (f *Font) length(s String) int {
	if !f.wide {
		return 1
	}
	if f.cmap != nil {
		if n := f.cmap.length(string(s)); n > 0 {
			return n
		}
	}
	return min(2, len(s))
}

func (f *Font) text(raw string, code int) string {
	if f.cmap != nil {
		if t, ok := f.cmap.text(raw); ok {
			return t
		}
	}
	switch {
	case !f.wide:
		return f.names[code&0xff]
	case f.utf16:
		return fromUTF16(raw)
	}
	return "\uFFFD"
}

func fromUTF16(raw string) string {
	var units []uint16
	for ; len(raw) > 1; raw = raw[2:] {
		units = append(units, uint16(raw[0])<<8|uint16(raw[1]))
	}
	return string(utf16.Decode(units))
}
