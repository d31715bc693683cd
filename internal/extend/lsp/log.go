package lsp

import (
	"strings"
	"sync"
)

// logLimit bounds the kept output, in bytes.
const logLimit = 16 << 10

// Log keeps the end of what a server printed to its standard error: foreign text.
type Log struct {
	mu   sync.Mutex
	text []byte
}

// Write takes output of the server.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p[max(0, len(p)-logLimit):]...)
	if over := len(l.text) - logLimit; over > logLimit {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}

// Last is the last line that was printed, shortened.
func (l *Log) Last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(l.text), "\uFFFD"))
	last := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if len(last) > 300 {
		last = strings.ToValidUTF8(last[:300], "")
	}
	return last
}
