package editor

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// imageLimit is the model APIs' limit of one image (docs.claude.com, vision: 5 MB).
const imageLimit = 5 << 20

// maxImages is more than anybody drops at once by intent.
const maxImages = 20

// imagePaths reads pasted text as the paths of images, as terminals paste dropped files: quoted,
// with backslashes before blanks, as file:// URLs, several with blanks or newlines between. nil: it is
// something else.
func imagePaths(s string, windows bool) []string {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 16<<10 {
		return nil
	}
	words, ok := shellWords(s, windows)
	if !allImages(words, windows) && !strings.ContainsAny(s, "\n\"'") && (windows || !strings.Contains(s, `\`)) {
		words, ok = []string{s}, true // one path with blanks, as it is
	}
	if !ok || len(words) > maxImages || !allImages(words, windows) {
		return nil
	}
	for i, w := range words {
		words[i] = atHome(fileURL(w))
	}
	return words
}

func allImages(words []string, windows bool) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !isImagePath(w, windows) })
}

// isImagePath reports paths that say where they begin and end as images do. A bare name is a word as any other.
func isImagePath(s string, windows bool) bool {
	if !llm.ImageName(s) {
		return false
	}
	for _, p := range []string{"/", "~/", "./", "../", "file://"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return windows && (len(s) > 3 && s[1] == ':' && (s[2] == '\\' || s[2] == '/') || strings.HasPrefix(s, `\\`) ||
		strings.HasPrefix(s, `~\`))
}

// atHome puts the home folder in the place of a tilde.
func atHome(s string) string {
	home, err := os.UserHomeDir()
	if err != nil || !strings.HasPrefix(s, "~") {
		return s
	}
	return home + s[1:]
}

// fileURL is the path of a file:// URL; other text stays.
func fileURL(s string) string {
	rest, ok := strings.CutPrefix(s, "file://")
	if !ok {
		return s
	}
	if i := strings.IndexByte(rest, '/'); i > 0 {
		rest = rest[i:] // the name of this machine
	}
	p, err := url.PathUnescape(rest)
	if err != nil {
		return rest
	}
	if len(p) > 3 && p[0] == '/' && p[2] == ':' {
		p = p[1:] // file:///C:/x.png
	}
	return p
}

// shellWords parts text at blanks, heeding quotes and backslashes; on Windows a backslash is part of the path.
func shellWords(s string, windows bool) (words []string, ok bool) {
	var b strings.Builder
	var quote byte
	inside := false
	flush := func() {
		if inside {
			words = append(words, b.String())
			b.Reset()
			inside = false
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inside = c, true
		case c == '\\' && quote != '\'' && !windows && i+1 < len(s):
			i++
			b.WriteByte(s[i])
			inside = true
		case quote == 0 && (c == ' ' || c == '\n' || c == '\t'):
			flush()
		default:
			b.WriteByte(c)
			inside = true
		}
	}
	flush()
	return words, quote == 0
}

// attach puts images into the text, to be read by the caller.
func (e *Editor) attach(paths []string) []Out {
	var outs []Out
	var s strings.Builder
	for i, p := range paths {
		if i > 0 {
			s.WriteByte(' ')
		}
		e.images++
		c := &chip{
			label: fmt.Sprintf("[Image #%d]", e.images),
			image: &llm.Media{Name: path.Base(strings.ReplaceAll(p, `\`, "/"))}, path: p,
		}
		id := e.nextChip
		s.WriteString(e.newChip(c))
		outs = append(outs, LoadImage{ID: id, Path: p, Limit: e.opt.ImageLimit})
	}
	e.apply(e.buf.cursor, e.buf.cursor, s.String(), other)
	return outs
}

// ImageLoaded brings the bytes of an image, or the reason why it could not be read; the text then has its path again.
func (e *Editor) ImageLoaded(id int, data []byte, err error) []Out {
	c := e.chips[id]
	if c == nil || !c.loading() {
		return nil
	}
	mime := llm.ImageType(data)
	switch {
	case err != nil:
	case int64(len(data)) > e.opt.ImageLimit:
		err = fmt.Errorf("it has %.1f MB, and models take %.1f; make it smaller", float64(len(data))/1e6,
			float64(e.opt.ImageLimit)/1e6)
	case mime == "":
		err = fmt.Errorf("it is no PNG, JPEG, GIF or WebP image; convert it")
	}
	if err != nil {
		told := Notice{fmt.Sprintf("%s is not attached: %v", term.EscapeLine(c.path), err)}
		e.dropImage(id, c.path)
		e.waiting = nil
		return []Out{told}
	}
	c.image.MIME, c.image.Data = mime, data
	return e.sendWaiting()
}

// dropImage puts the path where the image was.
func (e *Editor) dropImage(id int, p string) {
	mark := chipRune(id)
	cursor := e.buf.cursor
	for i := range e.buf.lines {
		for {
			col := strings.Index(e.buf.lines[i].text, mark)
			if col < 0 {
				break
			}
			from, to := pos{i, col}, pos{i, col + chipBytes}
			text := clean(p)
			e.apply(from, to, text, other)
			if cursor.line == i && cursor.col >= to.col {
				cursor.col += len(text) - chipBytes
			}
		}
	}
	e.buf.cursor = e.buf.snap(cursor)
	*e.chips[id] = chip{label: clean(p), text: clean(p)} // undo may bring it back
}
