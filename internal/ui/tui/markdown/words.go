package markdown

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/base/gfm"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// words appends plain text, in which URLs and places in files become links.
func (in *inliner) words(v string, s theme.Style) {
	for {
		at, end := gfm.BareURL(v)
		if at < 0 {
			in.places(v, s)
			return
		}
		in.places(v[:at], s)
		url := v[at:end]
		target := url
		if strings.HasPrefix(url, "www.") {
			target = "https://" + url
		}
		if target = line.Link(target); !in.r.options.Links {
			target = ""
		}
		in.put(url, s.With(in.r.theme.Link), target)
		v = v[end:]
	}
}

// places appends text in which places in files ("internal/x.go:12") become links.
func (in *inliner) places(v string, s theme.Style) {
	if in.r.options.File == nil || !in.r.options.Links {
		in.put(v, s, "")
		return
	}
	for text, at := range gfm.Places(v) {
		url := ""
		if at.Name != "" {
			url = line.Link(in.r.options.File(at.Name, at.Line))
		}
		in.put(text, s, url)
	}
}
