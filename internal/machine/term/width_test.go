package term_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

func TestWidthCountsCells(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     int
	}{
		{"empty", "", 0},
		{"ASCII", "hello", 5},
		{"Latin", "Grüße", 5},
		{"ideographs", "世界", 4},
		{"full width", "ＡＢ", 4},
		{"half width katakana", "ｱｲ", 2},
		{"a mark after ASCII", "e\u0301a", 2},
		{"a mark alone", "\u0301", 0},
		{"Hangul syllable", "한", 2},
		{"Hangul letters", "\u1112\u1161\u11ab", 2},
		{"emoji", "😀!", 3},
		{"a family", "👨\u200d👩\u200d👧", 2},
		{"skin tone", "👍🏽", 2},
		{"a flag", "🇩🇪🇫🇷", 4},
		{"half a flag", "🇩x", 2},
		{"a heart as text and as emoji", "❤ ❤\ufe0f", 4},
		{"a keycap", "1\ufe0f\u20e3", 2},
		{"box drawing", "│─", 2},
		{"our own signs", "␛‹›…", 4},
		{"a tab", "ab\tc", 9},
		{"joined Persian", "می\u200cخواهم", 7},
		{"invalid bytes", "\xff\xfe", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := term.Width(tt.in); got != tt.want {
				t.Errorf("Width(%+q) = %d, want %d", tt.in, got, tt.want)
			}
		})
	}
}

func TestTruncateCutsBetweenCharacters(t *testing.T) {
	for _, tt := range []struct {
		in    string
		cells int
		want  string
	}{
		{"hello", 5, "hello"},
		{"hello", 4, "hel…"},
		{"hello", 1, "…"},
		{"hello", 0, ""},
		{"世界人民", 5, "世界…"},
		{"世界人民", 4, "世…"},
		{"👨\u200d👩\u200d👧👨\u200d👩\u200d👧", 3, "👨\u200d👩\u200d👧…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"a\tb", 4, "a…"},
	} {
		if got := term.Truncate(tt.in, tt.cells, "…"); got != tt.want {
			t.Errorf("Truncate(%+q, %d) = %+q, want %+q", tt.in, tt.cells, got, tt.want)
		}
	}
}
