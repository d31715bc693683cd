package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Files that a prompt names as @path come behind it. One is read as the Read tool reads it, with the same approval and
// limits; one that may not be read is left out, and the user gets a notice.

// mostAttached is how many files one message brings: a pasted text may name any number.
const mostAttached = 20

// attach adds the files that a message names to it.
func (s *Session) attach(ctx context.Context, m llm.Message) llm.Message {
	found, missed := s.mentions(authored(m))
	if there := session.Attached(m); len(there) > 0 { // a face brought them, or the message is sent again
		found = slices.DeleteFunc(found, func(f mention) bool {
			return slices.ContainsFunc(there, func(name string) bool { return strings.HasPrefix(name, f.Path+" (") })
		})
		missed = nil
	}
	for i, word := range missed {
		if i == mostAttached {
			break
		}
		s.Publish(event.Notice{Level: "warning", Text: "not attached: @" + word + ": " + s.whyMissed(word)})
	}
	if n := len(found); n > mostAttached {
		s.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf("of %d files named with @ the first %d are attached", n,
			mostAttached)})
		found = found[:mostAttached]
	}
	for _, mention := range found {
		parts, err := s.readMention(ctx, mention)
		if err != nil {
			s.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf("not attached: %s: %v", mention.Path, err)})
			continue
		}
		m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], parts...)
	}
	return m
}

// attachNamed reads one file that a text of lathe's names, as attach does; nothing when it is none of the session's
// files.
func (s *Session) attachNamed(ctx context.Context, path string) []llm.Part {
	if _, ok := s.mentioned(path); !ok {
		return nil
	}
	parts, err := s.readMention(ctx, mention{Path: path})
	if err != nil {
		s.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf("not attached: %s: %v", path, err)})
	}
	return parts
}

// authored is the text that the author of a message wrote.
func authored(m llm.Message) string {
	var out []string
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginAuthor {
			out = append(out, t.Text)
		}
	}
	return strings.Join(out, "\n")
}

// mentions finds the paths in a text that exist below the folders the session works in.
func (s *Session) mentions(text string) (found []mention, missed []string) {
	return mentionsIn(text, func(path string) bool {
		_, ok := s.mentioned(path)
		return ok
	})
}

// whyMissed says why a word that looks like a path is not attached.
func (s *Session) whyMissed(word string) string {
	if p, err := s.env.Roots.Resolve(word, s.Dir()); err == nil && p.Exists() {
		return "it is outside of the folders of this session; /add-dir adds one"
	}
	return "there is no such file"
}

func (s *Session) mentioned(path string) (files.Path, bool) {
	p, err := s.env.Roots.Resolve(path, s.Dir())
	return p, err == nil && p.Exists() && p.Inside()
}

// readMention reads a file by way of the Read tool.
func (s *Session) readMention(ctx context.Context, m mention) ([]llm.Part, error) {
	p, _ := s.mentioned(m.Path)
	c, err := readCall(p, m)
	if err != nil {
		return nil, err
	}
	return readParts(p, m, s.readAttached(ctx, []llm.ToolCall{c})[0])
}

// readAttached runs calls of Read, for files that the user attaches.
func (s *Session) readAttached(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult {
	return s.agent.InvokeUnrecorded(ctx, calls)
}

// readCall is the call of Read for a file that is named.
func readCall(p files.Path, m mention) (llm.ToolCall, error) {
	in := map[string]any{"file_path": p.Lexical}
	if m.First > 0 {
		in["offset"], in["limit"] = m.First, m.Last-m.First+1
	}
	input, err := json.Marshal(in)
	return llm.ToolCall{ID: session.AttachedID(m.Path), Name: "Read", Input: input}, err
}

// readParts makes the parts of a message from a result of Read.
func readParts(p files.Path, m mention, res llm.ToolResult) ([]llm.Part, error) {
	if res.IsError {
		return nil, fmt.Errorf("%s", llm.Message{Parts: res.Parts}.PlainText())
	}
	var text strings.Builder
	var more []llm.Part // images, and the memory for the file
	for _, part := range res.Parts {
		if t, ok := part.(llm.Text); ok && t.Origin == "" {
			text.WriteString(t.Text)
		} else {
			more = append(more, part)
		}
	}
	return append([]llm.Part{session.AttachedText(m.Path, sizeOf(p, res), text.String())}, more...), nil
}

// attachAgain rereads files whose text left the conversation, side by side. A file is nil if it is outside the
// session's files or cannot be read.
func (s *Session) attachAgain(ctx context.Context, paths []string) [][]llm.Part {
	out := make([][]llm.Part, len(paths))
	var calls []llm.ToolCall
	var at []int // the path of each call
	found := make([]files.Path, len(paths))
	for i, path := range paths {
		p, ok := s.mentioned(path)
		if !ok {
			continue
		}
		if c, err := readCall(p, mention{Path: path}); err == nil {
			found[i], calls, at = p, append(calls, c), append(at, i)
		}
	}
	if len(calls) == 0 {
		return out
	}
	for n, res := range s.readAttached(ctx, calls) {
		i := at[n]
		if parts, err := readParts(found[i], mention{Path: paths[i]}, res); err == nil {
			out[i] = parts
		}
	}
	return out
}

var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\d+\t`) })

// sizeOf is the amount that a result of Read shows, for people.
func sizeOf(p files.Path, res llm.ToolResult) string {
	for _, part := range res.Parts {
		if media, ok := part.(llm.Media); ok {
			return media.MIME
		}
	}
	if p.Info.IsDir() {
		return "folder"
	}
	n := len(numbered().FindAllStringIndex(llm.Message{Parts: res.Parts}.PlainText(), -1))
	switch n {
	case 0:
		if p.Info.Size() > 0 {
			return "read before"
		}
		return "empty"
	case 1:
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// Mentioned is a file that a prompt would attach.
type Mentioned struct {
	Name   string
	Folder bool
	Tokens int // estimated; 0 for a folder
}

// Mentioned lists the files that a prompt with this text would attach, without reading them.
func (s *Session) Mentioned(text string) []Mentioned {
	var out []Mentioned
	found, _ := s.mentions(text)
	for _, m := range found {
		p, ok := s.mentioned(m.Path)
		if !ok || len(out) == mostAttached {
			break
		}
		out = append(out, Mentioned{m.Path, p.Info.IsDir(), estimateFile(p, m)})
	}
	return out
}

const (
	mostShown    = 48_000 // bytes of a text that Read shows at most
	bytesPerLine = 40     // of source, for a guess
	imageTokens  = 1_500  // of an image of common size
)

// estimateFile estimates the tokens of a file from its size and its name.
func estimateFile(p files.Path, m mention) int {
	if llm.ImageName(p.Real) {
		return imageTokens
	}
	if p.Info.IsDir() {
		return 0
	}
	size := int(min(p.Info.Size(), mostShown))
	if m.First > 0 {
		size = min(size, (m.Last-m.First+1)*bytesPerLine)
	}
	return llm.EstimateText(size)
}
