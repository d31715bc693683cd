package mcp

import (
	"strings"
	"sync"
)

// logLimit bounds what is kept of a server's messages, in bytes.
const logLimit = 64 << 10

// log keeps the end of what a server printed to its standard error, and notes of lathe's. All of it is foreign text.
type log struct {
	mu   sync.Mutex
	text []byte
	mask func(string) string // hides values that are not to be shown; nil: none
}

// Write takes output of the server.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p[max(0, len(p)-logLimit):]...)
	if over := len(l.text) - logLimit; over > logLimit/2 {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}

func (l *log) note(line string) {
	_, _ = l.Write([]byte("[lathe] " + strings.TrimRight(line, "\n") + "\n"))
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.ToValidUTF8(string(l.text[max(0, len(l.text)-logLimit):]), "\uFFFD")
	if l.mask != nil {
		text = l.mask(text)
	}
	return text
}

// last is the last line that the server printed itself, shortened.
func (l *log) last() string {
	lines := strings.Split(strings.TrimSpace(l.String()), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" && !strings.HasPrefix(line, "[lathe] ") {
			return line[:min(len(line), 300)]
		}
	}
	return ""
}
