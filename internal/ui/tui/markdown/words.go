package markdown

import (
	"strconv"
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
	if in.r.options.File == nil || !in.r.options.Links || !strings.ContainsAny(v, "./") {
		in.put(v, s, "")
		return
	}
	from := 0
	for i := 0; i < len(v); {
		if !pathByte(v[i]) {
			i++
			continue
		}
		end := i
		for end < len(v) && pathByte(v[end]) {
			end++
		}
		if path, n, ok := place(v[i:end]); ok {
			if url := line.Link(in.r.options.File(path.name, path.line)); url != "" {
				in.put(v[from:i], s, "")
				in.put(v[i:i+n], s, url)
				from = i + n
			}
		}
		i = end
	}
	in.put(v[from:], s, "")
}

func pathByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("./_-+~:@#",
		c) >= 0 || c >= 0x80
}

// filePlace is a place in a file; line 0 is the file.
type filePlace struct {
	name string
	line int
}

// place reads a word as a path with an extension, and a line behind it ("a/b.go:12", "a/b.go:12:3",
// "a/b.go#L12"). n is the length of it. A name without a folder counts only with a line.
func place(word string) (p filePlace, n int, ok bool) {
	word = strings.TrimRight(word, ".:#-")
	p.name, n = word, len(word)
	if i := strings.IndexAny(word, ":#"); i > 0 {
		p.name = word[:i]
		digits := strings.TrimPrefix(word[i+1:], "L")
		j := 0
		for j < len(digits) && '0' <= digits[j] && digits[j] <= '9' {
			j++
		}
		number, err := strconv.Atoi(digits[:j])
		if err != nil || number <= 0 || j < len(digits) && strings.IndexByte(":-", digits[j]) < 0 {
			return p, 0, false
		}
		p.line = number
	}
	base := p.name[strings.LastIndexByte(p.name, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	ext := base[dot+1:]
	if dot < 0 || ext == "" || len(ext) > 8 || strings.Trim(ext, "0123456789") == "" || strings.Contains(p.name, "//") {
		return p, 0, false
	}
	return p, n, p.line > 0 || base != p.name
}
