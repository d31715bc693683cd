package session

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/llm"
)

// maxPrompt is how many characters of the first prompt are kept to show in lists.
const maxPrompt = 200

// summary is derived from all entries of the tree, in file order.
type summary struct {
	Total
	mode        string
	firstPrompt string
	replyModel  string // of the last reply since the model was set
}

func (s *summary) apply(b Body) {
	switch b := b.(type) {
	case Title:
		s.Title = b.Title
	case Model:
		s.Model, s.replyModel = b.Model, ""
	case Mode:
		s.mode = b.Mode
	case Reply:
		s.replyModel = b.Model
	case TurnEnd:
		s.Turns++
		s.CostUSD += b.CostUSD
		s.Usage = s.Usage.Add(b.Usage)
	case Compaction:
		s.CostUSD += b.CostUSD
	case SideRequest:
		s.CostUSD += b.CostUSD
	case User:
		if s.firstPrompt == "" && !b.Synthetic {
			s.firstPrompt = promptOf(b.Message)
		}
	}
}

// promptOf is the user's own text, on one line, cut to 200 characters: the first text that lathe did not add.
func promptOf(m llm.Message) string {
	first := ""
	for _, p := range m.Parts {
		if media, ok := p.(llm.Media); ok && first == "" {
			first = "[" + cmp.Or(media.Name, media.MIME, "media") + "]"
		}
		t, ok := p.(llm.Text)
		if !ok || strings.TrimSpace(t.Text) == "" {
			continue
		}
		if !injected(t) {
			return oneLine(t.Text)
		}
		if first == "" {
			first = t.Text
		}
	}
	return oneLine(first)
}

func oneLine(text string) string {
	if len(text) > 4*maxPrompt {
		text = text[:4*maxPrompt]
		for !utf8.ValidString(text) && len(text) > 0 {
			text = text[:len(text)-1]
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxPrompt {
		return string(r[:maxPrompt-1]) + "…"
	}
	return text
}
