package llm

import (
	"cmp"
	"sync"
	"unsafe"
)

// DefaultMaxTokens is the output limit when neither the request nor the model sets a lower one. It leaves room for a
// whole file behind 10,000 tokens of thinking. UnknownMaxTokens is that of models whose limits are not known, on wires
// that want one.
const (
	DefaultMaxTokens = 32_000
	UnknownMaxTokens = 16_384
)

// OutputLimit is the output limit of a request that wants one, or 0 for none. It is 0 for a model of unknown limits:
// local servers refuse a limit that exceeds their window.
func (m ModelInfo) OutputLimit(wanted int) int {
	if !m.Known || m.MaxOutput == 0 {
		return wanted
	}
	return min(cmp.Or(wanted, DefaultMaxTokens), m.MaxOutput)
}

// ToolList keeps the encoded form of the last list of tools, which is known by its identity.
type ToolList struct {
	mu      sync.Mutex
	encoded []byte
	first   *ToolSpec
	n       int
}

// Encode returns the encoded form of a list.
func (l *ToolList) Encode(tools []ToolSpec, encode func([]ToolSpec) []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := unsafe.SliceData(tools); l.encoded == nil || l.first != first || l.n != len(tools) {
		l.encoded, l.first, l.n = encode(tools), first, len(tools)
	}
	return l.encoded
}
