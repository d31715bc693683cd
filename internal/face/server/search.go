package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// searchFor is how long a search may take; what it found by then is returned.
const searchFor = 10 * time.Second

type searchQuery struct {
	Text    string `json:"-" query:"text" doc:"what to look for; case does not matter"`
	Session string `json:"-" query:"session" doc:"only in this one"`
	Dir     string `json:"-" query:"dir" doc:"only in sessions of this folder"`
	Limit   int    `json:"-" query:"limit" doc:"50"`
}

// Found is a place in a conversation.
type Found struct {
	Session string       `json:"session"`
	Title   string       `json:"title,omitempty"`
	Dir     string       `json:"dir"`
	Cursor  event.Cursor `json:"cursor" jsonschema:"of the message; before of a page of the history that ends with it"`
	Role    string       `json:"role" jsonschema:"user or assistant"`
	Excerpt string       `json:"excerpt"`
	Time    time.Time    `json:"time"`
}

// FoundPage are the places that were found, those of the sessions used last first.
type FoundPage struct {
	Found []Found `json:"found"`
	More  bool    `json:"more,omitempty" jsonschema:"there may be more"`
}

func searchSessions(s *Server, c *call, q searchQuery) (FoundPage, error) {
	text := strings.ToLower(strings.TrimSpace(q.Text))
	if text == "" {
		return FoundPage{}, badRequest("there is no text to look for", "send text=")
	}
	ctx, cancel := context.WithTimeout(c, searchFor)
	defer cancel()
	out := FoundPage{Found: []Found{}}
	limit := page(q.Limit)
	for info, err := range s.Store.List(q.Dir) {
		if err != nil && info.ID == "" {
			return out, err
		}
		if q.Session != "" && info.ID != q.Session {
			continue
		}
		if ctx.Err() != nil || len(out.Found) >= limit {
			out.More = true
			break
		}
		if mentions(info.Path, text) {
			s.searchIn(info, text, limit, &out)
		}
	}
	return out, nil
}

// mentions reports whether a log may have a text, without decoding it.
func mentions(path, text string) bool {
	b, err := json.Marshal(text)
	raw, readErr := os.ReadFile(path)
	return err == nil && readErr == nil && bytes.Contains(bytes.ToLower(raw), b[1:len(b)-1])
}

// searchIn looks through the messages on the branch in front.
func (s *Server) searchIn(info session.Info, text string, limit int, out *FoundPage) {
	log, err := s.Store.OpenReadOnly(info.ID)
	if err != nil {
		return
	}
	defer func() { _ = log.Close() }() // it only read
	b := log.Branch()
	for _, e := range b.Entries(0, b.Len()) {
		var said, role string
		switch body := e.Body.(type) {
		case session.User:
			said, role = session.StripContext(body.Message).PlainText(), "user"
		case session.Part:
			if t, ok := body.Part.(llm.Text); ok {
				said, role = t.Text, "assistant"
			}
		}
		at := strings.Index(strings.ToLower(said), text)
		if at < 0 {
			continue
		}
		if len(out.Found) == limit {
			out.More = true
			return
		}
		out.Found = append(out.Found, Found{
			Session: info.ID, Title: cmp.Or(info.Title, info.FirstPrompt), Dir: info.Dir,
			Cursor: event.CursorAt(info.ID, e.ID, 0), Role: role, Excerpt: excerpt(said, at, len(text)), Time: e.Time,
		})
	}
}

// excerptSize is how many bytes before and after a text are shown.
const excerptSize = 80

func excerpt(text string, at, size int) string {
	if at > len(text) { // lower case may be longer
		at = 0
	}
	from, to := max(0, at-excerptSize), min(len(text), at+size+excerptSize)
	return strings.ToValidUTF8(strings.Join(strings.Fields(text[from:to]), " "), "")
}

type fileSearch struct {
	named
	Text  string `json:"-" query:"text" doc:"letters of a path, or with in=content a text"`
	In    string `json:"-" query:"in" doc:"name, or content; name"`
	Limit int    `json:"-" query:"limit" doc:"50"`
}

// FileMatch is a file that a search found.
type FileMatch struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty" jsonschema:"from 1"`
	Text string `json:"text,omitempty" jsonschema:"of the line"`
	Dir  bool   `json:"dir,omitempty"`
}

// FileMatches are the files that a search found.
type FileMatches struct {
	Matches []FileMatch `json:"matches"`
	More    bool        `json:"more,omitempty"`
}

func searchFiles(s *Server, c *call, q fileSearch) (FileMatches, error) {
	x, err := s.session(q.ID)
	if err != nil {
		return FileMatches{}, err
	}
	roots, err := files.NewRoots(x.Dir)
	if err != nil {
		return FileMatches{}, err
	}
	defer func() { _ = roots.Close() }() // nothing was written
	ctx, cancel := context.WithTimeout(c, searchFor)
	defer cancel()
	if q.In == "content" {
		return searchContent(ctx, roots, q, c.who)
	}
	index := files.NewIndex(roots)
	defer func() { _ = index.Close() }()
	if p := leadsOut(q.Text); p != nil {
		return FileMatches{}, p
	}
	found, err := index.Search(ctx, q.Text, page(q.Limit))
	out := FileMatches{Matches: []FileMatch{}}
	for _, m := range found {
		out.Matches = append(out.Matches, FileMatch{Path: m.Path, Dir: m.Dir})
	}
	return out, err
}

// leadsOut refuses the beginning of a path that would list other folders.
func leadsOut(text string) *Problem {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.Contains(text, "..") {
		return forbidden("the path leads out of the session's folder", "give letters of a path within it")
	}
	return nil
}

// mostSearched is the size of the largest file that is looked through.
const mostSearched = 1 << 20

var errEnough = errors.New("enough was found")

// searchContent looks through the files that no ignore file excludes.
func searchContent(ctx context.Context, roots *files.Roots, q fileSearch, who Principal) (FileMatches, error) {
	out := FileMatches{Matches: []FileMatch{}}
	text := []byte(strings.ToLower(q.Text))
	if len(text) == 0 {
		return out, badRequest("there is no text to look for", "send text=")
	}
	start, err := roots.Resolve(".", roots.First())
	if err != nil {
		return out, err
	}
	limit := page(q.Limit)
	_, err = roots.Walk(ctx, start, files.WalkOptions{Ignore: true}, func(e files.Entry) error {
		if st, err := e.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > mostSearched {
			return nil
		}
		if secret, _, _ := permission.SecretPath(e.Rel); secret != "" && !who.May(Admin) {
			return nil
		}
		f, err := e.Open()
		if err != nil {
			return nil // it is gone, or may not be read
		}
		b, err := io.ReadAll(io.LimitReader(f, mostSearched))
		if f.Close(); err != nil || files.Binary(b[:min(len(b), 8<<10)]) {
			return nil
		}
		for n, line := range bytes.Split(b, []byte("\n")) {
			if !bytes.Contains(bytes.ToLower(line), text) {
				continue
			}
			if len(out.Matches) == limit {
				out.More = true
				return errEnough
			}
			out.Matches = append(out.Matches, FileMatch{Path: filepath.ToSlash(e.Rel), Line: n + 1, Text: cut(line)})
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, context.DeadlineExceeded) {
		out.More, err = true, nil
	}
	return out, err
}

// cut is the beginning of a line.
func cut(line []byte) string {
	line = line[:min(len(line), 400)]
	for !utf8.Valid(line) && len(line) > 0 {
		line = line[:len(line)-1]
	}
	return string(line)
}
