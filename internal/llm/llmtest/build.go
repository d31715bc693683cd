package llmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Text is a part of plain text.
func Text(s string) Part { return Part{Text: s} }

// Thinking is a part of reasoning, signed by Sign.
func Thinking(s string) Part { return Part{Thinking: s} }

// Tool is a call of the tool of that name. Input is any value for encoding/json; a json.RawMessage is sent
// byte for byte. Tool panics if the input cannot be encoded.
func Tool(name string, input any) Part {
	b, err := json.Marshal(input)
	if raw, ok := input.(json.RawMessage); ok {
		b, err = raw, nil
	}
	if err != nil {
		panic(fmt.Sprintf("llmtest.Tool(%q): %v", name, err))
	}
	return Part{Tool: name, Input: b}
}

// Say is a reply of the given parts.
func Say(parts ...Part) Reply { return Reply{Parts: parts} }

// Replies is a script of the given replies, in the order of turns.
func Replies(rs ...Reply) *Script { return &Script{Replies: rs} }

const signaturePrefix = "llmtest."

// Sign returns the signature that the server gives to a thinking block of that text, and checks when the
// block is sent back. A signature without the prefix "llmtest." is foreign and is only required to be
// present.
func Sign(text string) string {
	sum := sha256.Sum256([]byte(text))
	return signaturePrefix + hex.EncodeToString(sum[:12])
}

// Fill returns n bytes of deterministic text with line breaks and some multi-byte characters.
func Fill(n int) string {
	if n <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(n + 64)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %06d: plain filler text, naïve café → 世界 🙂\n", i)
	}
	s := b.String()[:n]
	return strings.ToValidUTF8(s, "") + strings.Repeat(".", n-len(strings.ToValidUTF8(s, "")))
}

// chunks cuts s into pieces of n characters; n <= 0 leaves it whole.
func chunks(s string, n int) []string {
	if s == "" {
		return nil
	}
	if n <= 0 {
		return []string{s}
	}
	var out []string
	count, start := 0, 0
	for i := range s {
		if count == n {
			out = append(out, s[start:i])
			count, start = 0, i
		}
		count++
	}
	return append(out, s[start:])
}
