package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// maxInline is how many characters of one result the model gets; the whole is kept in a blob.
const maxInline = 50_000

// Spill masks the user's secrets in the result of a call and limits it: it keeps a text that is too long in the
// session's blobs and leaves its head and tail, because the ends matter more often than the middle. When the blob
// cannot be written the result is cut all the same, and says so: a full disk must not make a call fail that has already
// acted.
func (e *Results) Spill(ctx context.Context, call llm.ToolCall, res *agent.Result) {
	e.mask(res)
	for j, p := range res.Parts {
		t, ok := p.(llm.Text)
		if !ok || len(t.Text) <= maxInline || utf8.RuneCountInString(t.Text) <= maxInline {
			continue
		}
		where := "the rest could not be kept"
		if path, err := e.SaveBlob(ctx, call.Name+".txt", []byte(t.Text)); err == nil {
			where = "all of it is in " + path
		} else {
			where += ": " + err.Error()
		}
		res.Parts[j] = llm.Text{Text: shortenMiddle(t.Text, maxInline, where)}
	}
}

// mask takes the values of the user's credentials out of a result.
func (e *Results) mask(res *agent.Result) {
	if e.Secrets == nil {
		return
	}
	v := e.Secrets()
	for j, p := range res.Parts {
		if t, ok := p.(llm.Text); ok {
			t.Text = v.Mask(t.Text)
			res.Parts[j] = t
		}
	}
	res.Title = v.Mask(res.Title)
	if view, ok := v.MaskAll(res.View).(event.View); ok {
		res.View = view
	}
	if meta, ok := v.MaskAll(res.Meta).(map[string]any); ok {
		res.Meta = meta
	}
}

// keepsSecrets refuses a content in which the mark of a secret that the model was not shown would take the secret's
// place.
func (c *change) keepsSecrets() error {
	mark := []byte(event.Masked)
	if c.env.Secrets == nil || bytes.Count(c.after, mark) <= bytes.Count(c.before, mark) {
		return nil
	}
	if text := string(c.before); c.env.Secrets().Mask(text) == text {
		return nil
	}
	return fmt.Errorf("%s would lose a secret: %s stands for a text in it that you are not shown. Edit only the lines "+
		"around it, or ask the user", c.path.Lexical, event.Masked)
}

// masked is w behind the mask.
func (e *Results) masked(w io.Writer) io.Writer {
	if e.Secrets == nil {
		return w
	}
	return e.Secrets().Writer(w)
}

// shortenMiddle keeps the first and the last half of n characters, cut at lines where one is near.
func shortenMiddle(s string, n int, where string) string {
	runes := utf8.RuneCountInString(s)
	head := s[:offset(s, n/2)]
	tail := s[offset(s, runes-n/2):]
	if i := strings.LastIndexByte(head, '\n'); i > len(head)*3/4 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	cut := runes - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	return fmt.Sprintf("%s\n[... %d characters left out; %s ...]\n%s", strings.TrimRight(head, "\n"), cut, where, tail)
}

// offset is the byte position of the n-th character.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
