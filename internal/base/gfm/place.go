package gfm

import (
	"iter"
	"strconv"
	"strings"
)

// Places cuts text into pieces: the places in files that it names ("internal/x.go:12"), and with an empty name the text
// between them.
func Places(v string) iter.Seq2[string, Place] {
	return func(yield func(string, Place) bool) {
		from := 0
		for i := 0; i < len(v) && strings.ContainsAny(v, "./"); {
			if !pathByte(v[i]) {
				i++
				continue
			}
			end := i
			for end < len(v) && pathByte(v[end]) {
				end++
			}
			if at, n, ok := place(v[i:end]); ok {
				if i > from && !yield(v[from:i], Place{}) || !yield(v[i:i+n], at) {
					return
				}
				from = i + n
			}
			i = end
		}
		if from < len(v) {
			yield(v[from:], Place{})
		}
	}
}

func pathByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("./_-+~:@#",
		c) >= 0 || c >= 0x80
}

// Place is a place in a file; line 0 is the file.
type Place struct {
	Name string
	Line int
}

// place reads a word as a path with an extension, and a line behind it ("a/b.go:12", "a/b.go:12:3",
// "a/b.go#L12"). n is the length of it. A name without a folder counts only with a line.
func place(word string) (p Place, n int, ok bool) {
	word = strings.TrimRight(word, ".:#-")
	p.Name, n = word, len(word)
	if i := strings.IndexAny(word, ":#"); i > 0 {
		p.Name = word[:i]
		digits := strings.TrimPrefix(word[i+1:], "L")
		j := 0
		for j < len(digits) && '0' <= digits[j] && digits[j] <= '9' {
			j++
		}
		number, err := strconv.Atoi(digits[:j])
		if err != nil || number <= 0 || j < len(digits) && strings.IndexByte(":-", digits[j]) < 0 {
			return p, 0, false
		}
		p.Line = number
	}
	base := p.Name[strings.LastIndexByte(p.Name, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	ext := base[dot+1:]
	if dot < 0 || ext == "" || len(ext) > 8 || strings.Trim(ext, "0123456789") == "" || strings.Contains(p.Name, "//") {
		return p, 0, false
	}
	return p, n, p.Line > 0 || base != p.Name
}
