package session

import (
	"hash/maphash"

	"github.com/lathe-dev/lathe/internal/llm"
)

// knownTexts are long strings that are in memory already, by their hash.
type knownTexts struct {
	seed maphash.Seed
	by   map[uint64]string
}

// sharedText is the length in bytes from which a string is worth looking for.
const sharedText = 256

// string returns b as a string: the one that is in memory, where there is one.
func (t *knownTexts) string(b []byte) string {
	if s, ok := t.by[maphash.Bytes(t.seed, b)]; ok && s == string(b) {
		return s
	}
	return string(b)
}

// textsOf collects the long texts of messages.
func textsOf(msgs []llm.Message) *knownTexts {
	t := &knownTexts{maphash.MakeSeed(), map[uint64]string{}}
	for _, m := range msgs {
		t.add(m.Parts)
	}
	return t
}

func (t *knownTexts) add(parts []llm.Part) {
	for _, p := range parts {
		text := ""
		switch p := p.(type) {
		case llm.Text:
			text = p.Text
		case llm.Reasoning:
			text = p.Text
		case llm.ToolResult:
			t.add(p.Parts)
		}
		if len(text) >= sharedText {
			t.by[maphash.String(t.seed, text)] = text
		}
	}
}
