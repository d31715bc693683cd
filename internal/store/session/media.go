package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/lathe-dev/lathe/internal/llm"
)

// ReplaceMedia puts a text in the place of each of some media, wherever its bytes are in Messages, with a
// compaction of level 0. It is an error while a call has no result.
func (s *Session) ReplaceMedia(ctx context.Context, media []llm.Media, text func(llm.Media) string) error {
	s.mu.Lock()
	until := ""
	if n := len(s.t.ends); n > 0 {
		until = s.j.idAt(s.t.ends[n-1])
	}
	s.mu.Unlock()
	c := Compaction{Trigger: "refused", Until: until}
	for _, m := range media {
		c.Media = append(c.Media, MediaStub{mediaSum(m.Data), text(m)})
	}
	return s.Compact(ctx, c)
}

func mediaSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// onlyMedia reports a compaction after which the prompt is about as long as before.
func (c Compaction) onlyMedia() bool {
	return len(c.Messages) == 0 && len(c.Stubs) == 0 && !c.DropReasoning
}

// mediaStubs are the texts that replace media, by the hash of their bytes.
type mediaStubs map[string]string

func mediaTexts(stubs []MediaStub) mediaStubs {
	if len(stubs) == 0 {
		return nil
	}
	out := make(mediaStubs, len(stubs))
	for _, s := range stubs {
		out[s.SHA256] = s.Text
	}
	return out
}

// replace returns a part with its media replaced; false when it has none of them.
func (m mediaStubs) replace(p llm.Part) (llm.Part, bool) {
	if m == nil {
		return p, false
	}
	switch p := p.(type) {
	case llm.Media:
		if text, ok := m[mediaSum(p.Data)]; ok {
			return llm.Text{Text: text}, true
		}
	case llm.ToolResult:
		parts, changed := slices.Clone(p.Parts), false
		for i := range parts {
			if q, ok := m.replace(parts[i]); ok {
				parts[i], changed = q, true
			}
		}
		if changed {
			p.Parts = parts
			return p, true
		}
	}
	return p, false
}

// stubMedia notes the calls whose results lose media: they are not in the context as they were given.
func (t *transcript) stubMedia(stubs []MediaStub, msgs []llm.Message) {
	media := mediaTexts(stubs)
	if media == nil {
		return
	}
	for _, m := range msgs {
		for _, p := range m.Parts {
			r, ok := p.(llm.ToolResult)
			if _, changed := media.replace(p); ok && changed {
				t.stub(r.CallID)
			}
		}
	}
}

// stub notes that the result of a call is not sent as it was given.
func (t *transcript) stub(callID string) {
	if t.stubbed == nil {
		t.stubbed = map[string]bool{}
	}
	t.stubbed[callID] = true
}
