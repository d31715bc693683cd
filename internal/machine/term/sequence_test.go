package term_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

func TestSequenceEndsWhereTheTerminalEndsIt(t *testing.T) {
	for _, tt := range []struct {
		s        string
		n        int
		complete bool
	}{
		{"\x1b", 1, false},
		{"\x1b[", 2, false},
		{"\x1b[1;31", 6, false},
		{"\x1b[1;31mred", 7, true},
		{"\x1b[?2026hx", 8, true},
		{"\x1b[4:3mx", 6, true},
		{"\x1b[1\n", 3, false},
		{"\x1b[1\x1b[m", 3, false},
		{"\x1b]0;title\ax", 10, true},
		{"\x1b]8;;u\x1b\\link", 8, true},
		{"\x1b]8;;u", 6, false},
		{"\x1b]0;a\x1b[m", 5, false},
		{"\x1b]0;a\nb\a", 5, false},
		{"\x1bPq#0\x1b\\x", 7, true},
		{"\x1b(Bx", 3, true},
		{"\x1b7x", 2, true},
		{"\x1b\n", 1, false},
		{"\x1b世", 1, false},
	} {
		if n, complete := term.Sequence(tt.s); n != tt.n || complete != tt.complete {
			t.Errorf("%q: %d, %v; want %d, %v", tt.s, n, complete, tt.n, tt.complete)
		}
	}
}

func TestTheKindsOfSequencesAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		s, sgr, osc  string
		isSGR, isOSC bool
	}{
		{s: "\x1b[1;31m", sgr: "1;31", isSGR: true},
		{s: "\x1b[m", isSGR: true},
		{s: "\x1b[4:3m", sgr: "4:3", isSGR: true},
		{s: "\x1b[>4;2m"},
		{s: "\x1b[2J"},
		{s: "\x1b]0;title\a", osc: "0;title", isOSC: true},
		{s: "\x1b]8;;u\x1b\\", osc: "8;;u", isOSC: true},
		{s: "\x1bc"},
	} {
		if params, ok := term.SGR(tt.s); params != tt.sgr || ok != tt.isSGR {
			t.Errorf("SGR of %q: %q, %v", tt.s, params, ok)
		}
		if text, ok := term.OSC(tt.s); text != tt.osc || ok != tt.isOSC {
			t.Errorf("OSC of %q: %q, %v", tt.s, text, ok)
		}
	}
}
