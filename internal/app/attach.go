package app

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/files"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/session"
)

// mostAttached is how many files one message brings: a pasted text may name any number.
const mostAttached = 20

// attach puts the files that a message names as @path behind it. They are read as the Read tool reads them, with
// the same approval and limits; one that may not be read is left out, and the user is told.
func (s *Session) attach(ctx context.Context, m llm.Message) llm.Message {
	if slices.ContainsFunc(m.Parts, func(p llm.Part) bool { t, ok := p.(llm.Text); return ok && t.Origin == llm.OriginFile }) {
		return m // sent again as it was
	}
	found := s.mentions(authored(m))
	if n := len(found); n > mostAttached {
		s.publish(event.Notice{Level: "warning", Text: fmt.Sprintf("of %d files named with @ the first %d are attached", n, mostAttached)})
		found = found[:mostAttached]
	}
	for _, f := range found {
		parts, err := s.readMention(ctx, f)
		if err != nil {
			s.publish(event.Notice{Level: "warning", Text: fmt.Sprintf("not attached: %s: %v", f.Path, err)})
			continue
		}
		m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], parts...)
	}
	return m
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
func (s *Session) mentions(text string) []prompt.Mention {
	return prompt.Mentions(text, func(path string) bool {
		_, ok := s.mentioned(path)
		return ok
	})
}

func (s *Session) mentioned(path string) (files.Path, bool) {
	p, err := s.env.Roots.Resolve(path, s.Dir())
	return p, err == nil && p.Exists() && p.Inside()
}

// readMention reads a file by way of the Read tool.
func (s *Session) readMention(ctx context.Context, m prompt.Mention) ([]llm.Part, error) {
	p, _ := s.mentioned(m.Path)
	in := map[string]any{"file_path": p.Lexical}
	if m.First > 0 {
		in["offset"], in["limit"] = m.First, m.Last-m.First+1
	}
	input, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	res := s.agent.InvokeUnrecorded(ctx, []llm.ToolCall{{Name: "Read", Input: input}})[0]
	text := llm.Message{Parts: res.Parts}.PlainText()
	if res.IsError {
		return nil, fmt.Errorf("%s", text)
	}
	out := []llm.Part{session.AttachedText(m.Path, sizeOf(p, res), text)}
	for _, part := range res.Parts {
		if media, ok := part.(llm.Media); ok {
			out = append(out, media)
		}
	}
	return out, nil
}

var numbered = regexp.MustCompile(`(?m)^\d+\t`)

// sizeOf says for people how much a result of Read shows.
func sizeOf(p files.Path, res llm.ToolResult) string {
	for _, part := range res.Parts {
		if media, ok := part.(llm.Media); ok {
			return media.MIME
		}
	}
	if p.Info.IsDir() {
		return "folder"
	}
	n := len(numbered.FindAllStringIndex(llm.Message{Parts: res.Parts}.PlainText(), -1))
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

// Mentioned lists what a prompt with this text would attach, without reading it.
func (s *Session) Mentioned(text string) []Mentioned {
	var out []Mentioned
	for _, m := range s.mentions(text) {
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

// estimateFile guesses from the size and the name what a file takes.
func estimateFile(p files.Path, m prompt.Mention) int {
	switch strings.ToLower(filepath.Ext(p.Real)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
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
