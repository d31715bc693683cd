package line

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// output writes spans into one line, with as few sequences as it takes.
type output struct {
	b      *strings.Builder
	under  theme.Style // lies under every span
	style  theme.Style // the present one
	link   string
	narrow bool // there is no room for characters of two cells
}

// text writes a piece of a span.
func (o *output) text(s Span, text string) {
	if text == "" {
		return
	}
	style := o.under.With(s.Style)
	if style != o.style {
		o.b.WriteString(o.style.Suffix)
		o.b.WriteString(style.Prefix)
		o.style = style
	}
	if s.Link != o.link {
		o.setLink(s.Link)
	}
	o.b.WriteString(clean(text, o.narrow))
}

// setLink starts a link, or ends the one that is on. Lines of one link carry the same id, so that the
// terminal sees one link (the OSC 8 convention of egmontkob, supported by iTerm2, kitty, WezTerm, VTE).
func (o *output) setLink(url string) {
	o.link = url
	o.b.WriteString("\x1b]8;")
	if url != "" {
		h := fnv.New32a()
		h.Write([]byte(url))
		o.b.WriteString("id=" + strconv.FormatUint(uint64(h.Sum32()), 36))
	}
	o.b.WriteString(";" + url + "\x1b\\")
}

// end brings the terminal back to its own style.
func (o *output) end() {
	if o.link != "" {
		o.setLink("")
	}
	o.b.WriteString(o.style.Suffix)
	o.style = theme.Style{}
}

// clean drops text that must never be written. Text was escaped before: this is the last line of defence.
func clean(s string, narrow bool) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return cleaned(s, narrow)
		}
	}
	return s
}

func cleaned(s string, narrow bool) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 {
			return -1
		}
		return r
	}, s)
	if !narrow {
		return s
	}
	var b strings.Builder
	for s != "" {
		n, cells := term.Cluster(s, 0)
		if cells > 1 {
			b.WriteByte('?')
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// Link checks a URL for use as a link: only http, https, mailto and file go through, and only
// printable ASCII, so that other characters are percent-encoded. It returns "" if it must not be a link.
func Link(url string) string {
	scheme, _, ok := strings.Cut(url, ":")
	if !ok || len(url) > 2000 {
		return ""
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto", "file":
	default:
		return ""
	}
	if !utf8.ValidString(url) {
		return ""
	}
	var b strings.Builder
	for i := range len(url) {
		if c := url[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' || c == '\\' || c == '`' {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)+0x100, 16)[1:]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
