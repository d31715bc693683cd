package term_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

var escapes = []struct{ name, in, block, line string }{
	{"plain text", "hello\tworld\n", "hello\tworld\n", "hello⇥world↵"},
	{"letters of the world", "Grüße, 世界, عالم, हिन्दी", "Grüße, 世界, عالم, हिन्दी", "Grüße, 世界, عالم, हिन्दी"},
	{"colour", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m", "␛[31mred␛[0m"},
	{"clipboard", "\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇", "␛]52;c;aGk=␇"},
	{"C0 and DEL", "\x00\b\v\f\x7f", "␀␈␋␌␡", "␀␈␋␌␡"},
	{"C1 as a character", "\u0085\u009b31m", "‹U+0085›‹U+009B›31m", "‹U+0085›‹U+009B›31m"},
	{"C1 as a byte", "\x9b31m", `\x9b31m`, `\x9b31m`},
	{"broken UTF-8", "a\xffb\xe2\x82", `a\xffb\xe2\x82`, `a\xffb\xe2\x82`},
	{"overlong escape", "\xc0\x9b", `\xc0\x9b`, `\xc0\x9b`},
	{"a surrogate in UTF-8", "\xed\xa0\x80", `\xed\xa0\x80`, `\xed\xa0\x80`},
	{"CRLF", "a\r\nb\r\n", "a\nb\n", "a↵b↵"},
	{"overwriting a line", "rm -rf ~\rls     ", "rm -rf ~␍ls     ", "rm -rf ~␍ls     "},
	{"bidi override", "a\u202egpj.exe\u202c", "a‹U+202E›gpj.exe‹U+202C›", "a‹U+202E›gpj.exe‹U+202C›"},
	{
		"bidi isolates and marks", "\u2066\u2069\u200e\u200f\u061c", "‹U+2066›‹U+2069›‹U+200E›‹U+200F›‹U+061C›",
		"‹U+2066›‹U+2069›‹U+200E›‹U+200F›‹U+061C›",
	},
	{
		"zero width", "pass\u200bwd\ufeff\u2060\u00ad", "pass‹U+200B›wd‹U+FEFF›‹U+2060›‹U+00AD›",
		"pass‹U+200B›wd‹U+FEFF›‹U+2060›‹U+00AD›",
	},
	{
		"invisible letters", "a\u3164b\u115f\uffa0\u034f", "a‹U+3164›b‹U+115F›‹U+FFA0›‹U+034F›",
		"a‹U+3164›b‹U+115F›‹U+FFA0›‹U+034F›",
	},
	{"tags", "hi\U000e0041\U000e007f", "hi‹U+E0041›‹U+E007F›", "hi‹U+E0041›‹U+E007F›"},
	{"line separators", "a\u2028b\u2029", "a‹U+2028›b‹U+2029›", "a‹U+2028›b‹U+2029›"},
	{"noncharacters", "\ufffe\U0001ffff", "‹U+FFFE›‹U+1FFFF›", "‹U+FFFE›‹U+1FFFF›"},
	{"a family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧", "👨‹U+200D›👩‹U+200D›👧"},
	{"a red heart and a keycap", "❤\ufe0f 1\ufe0f⃣", "❤\ufe0f 1\ufe0f⃣", "❤‹U+FE0F› 1‹U+FE0F›⃣"},
	{"a joiner before a broken byte", "👨\u200d\xf0", `👨‹U+200D›\xf0`, `👨‹U+200D›\xf0`},
	{"a joiner in Persian", "می\u200cخواهم", "می\u200cخواهم", "می‹U+200C›خواهم"},
	{"a joiner between letters of ours", "sud\u200do", "sud‹U+200D›o", "sud‹U+200D›o"},
	{"a form of a Han character", "葛\U000e0100城", "葛\U000e0100城", "葛‹U+E0100›城"},
	{
		"bytes hidden in selectors", "😀\ufe0f\ufe0e\U000e0155\ufe01", "😀\ufe0f‹U+FE0E›‹U+E0155›‹U+FE01›",
		"😀‹U+FE0F›‹U+FE0E›‹U+E0155›‹U+FE01›",
	},
	{"a selector at the start", "\ufe0fa", "‹U+FE0F›a", "‹U+FE0F›a"},
	{"marks", "e\u0301", "e\u0301", "e\u0301"},
	{
		"a tower of marks", "e" + strings.Repeat("\u0301", 10), "e" + strings.Repeat("\u0301", 8) + "‹U+0301›‹U+0301›",
		"e" + strings.Repeat("\u0301", 8) + "‹U+0301›‹U+0301›",
	},
	{"other spaces", "rm\u00a0-rf\u3000\u2800x", "rm\u00a0-rf\u3000\u2800x", "rm‹U+00A0›-rf‹U+3000›‹U+2800›x"},
	{"a long run of blanks", "ls" + strings.Repeat(" ", 300) + "; rm -rf ~", "ls" + strings.Repeat(" ", 300) +
		"; rm -rf ~", "ls‹300 spaces›; rm -rf ~"},
	{"eight blanks", "a        b", "a        b", "a        b"},
	{"icons", "\ue0b0\U000f0001", "\ue0b0‹U+F0001›", "\ue0b0‹U+F0001›"},
	{"nothing", "", "", ""},
}

func TestForeignTextIsShownAndNotObeyed(t *testing.T) {
	for _, tt := range escapes {
		t.Run(tt.name, func(t *testing.T) {
			if got := term.Escape(tt.in); got != tt.block {
				t.Errorf("Escape(%+q)\n got %+q\nwant %+q", tt.in, got, tt.block)
			}
			if got := term.EscapeLine(tt.in); got != tt.line {
				t.Errorf("EscapeLine(%+q)\n got %+q\nwant %+q", tt.in, got, tt.line)
			}
		})
	}
}

func TestACommandIsShownWithItsLines(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"one line", "go test ./...", "go test ./..."},
		{"lines", "a\nb\r\nc\n", "a↵\nb↵\nc↵\n"},
		{"a lone carriage return", "rm -rf ~\rls", "rm -rf ~␍ls"},
		{"indentation", "if x; then\n    y\n\tz\nfi", "if x; then↵\n    y↵\n⇥z↵\nfi"},
		{"far out", "ls\n" + strings.Repeat(" ", 57) + "rm -rf ~", "ls↵\n‹57 spaces›rm -rf ~"},
		{"blanks within", "ls" + strings.Repeat(" ", 57) + "; rm -rf ~", "ls‹57 spaces›; rm -rf ~"},
		{"far down", "# list files" + strings.Repeat("\n", 60) + "rm -rf ~", "# list files↵\n‹59 empty lines›↵\nrm -rf ~"},
		{"lines of blanks", "a\n   \n" + strings.Repeat(" ", 20) + "\nb", "a↵\n   ↵\n‹20 spaces›↵\nb"},
		{"many lines of blanks", "a\n" + strings.Repeat(" \n\t\n", 30) + "b", "a↵\n‹60 empty lines›↵\nb"},
		{"empty lines", "a\n\n\nb", "a↵\n↵\n↵\nb"},
		{"only newlines", "\n\n\n\n\n", "‹5 empty lines›↵\n"},
		{"hidden text", "echo \u202egpj\u2066; \x1b[8mrm\x1b[0m", "echo ‹U+202E›gpj‹U+2066›; ␛[8mrm␛[0m"},
		{"other spaces", "rm\u00a0-rf", "rm‹U+00A0›-rf"},
		{"a next-line character", "a\u0085b\u2028c", "a‹U+0085›b‹U+2028›c"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := term.EscapeCommand(tt.in); got != tt.want {
				t.Errorf("EscapeCommand(%+q)\n got %+q\nwant %+q", tt.in, got, tt.want)
			}
		})
	}
}

// TestEveryCharacterIsJudgedTheSameAlone holds the short cut for common text against the tables.
func TestEveryCharacterIsJudgedTheSameAlone(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		checkSafe(t, string(r), term.Escape(string(r)), false)
		if tower := strings.Repeat(string(r), 9); unicode.In(r, unicode.Mn, unicode.Me) && term.Escape("e"+tower) == "e"+
			tower {
			t.Fatalf("%U: a tower of marks stays", r)
		}
	}
}

func TestSafeTextCostsNothing(t *testing.T) {
	text := strings.Repeat("the quick brown fox\n", 100)
	if n := testing.AllocsPerRun(10, func() { term.Escape(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(10, func() { term.EscapeLine("go test ./...") }); n != 0 {
		t.Errorf("%v allocations for a line", n)
	}
}

func TestACutBetweenAnyTwoBytesChangesNothing(t *testing.T) {
	for _, tt := range escapes {
		for cut := range len(tt.in) + 1 {
			var e term.Escaper
			got := e.Next(tt.in[:cut]) + e.Next(tt.in[cut:]) + e.End()
			if got != tt.block {
				t.Errorf("%s, cut at %d: %+q, want %+q", tt.name, cut, got, tt.block)
			}
		}
	}
}

func TestAnEscaperShowsSafeTextAtOnce(t *testing.T) {
	var e term.Escaper
	if got := e.Next("done"); got != "done" {
		t.Errorf("held back: %q", got)
	}
	if got := e.Next("\r"); got != "" {
		t.Errorf("a CR was judged before the next byte came: %q", got)
	}
	if got := e.Next("\n"); got != "\n" {
		t.Errorf("got %q", got)
	}
}

func TestAnEscaperCanBeUsedAgainAfterItsEnd(t *testing.T) {
	var e term.Escaper
	e.Next("😀")
	e.End()
	if got, want := e.Next("\ufe0f")+e.End(), "‹U+FE0F›"; got != want {
		t.Errorf("got %+q, want %+q: the end of one text touched the next", got, want)
	}
}

func TestAWriterEscapesWhatIsWritten(t *testing.T) {
	var out bytes.Buffer
	w := term.NewWriter(&out)
	for _, b := range []byte("a\x1b[2J€\xe2") {
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `a␛[2J€\xe2`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// checkSafe checks the package's promises for any output.
func checkSafe(t *testing.T, in, out string, line bool) {
	t.Helper()
	checkKept(t, in, out, func(r rune) bool { return !line && (r == '\n' || r == '\t' || r == 0x200c || r == 0x200d) })
}

func checkKept(t *testing.T, in, out string, block func(rune) bool) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Fatalf("%+q: not UTF-8: %+q", in, out)
	}
	for _, r := range out {
		bad := r < ' ' || 0x7f <= r && r < 0xa0 || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) ||
			unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) || 0xe0000 <= r && r < 0xe0100
		if bad && !block(r) {
			t.Fatalf("%+q: %U is in %+q", in, r, out)
		}
	}
}

func TestJSONIsSafeForATerminalAndMeansTheSame(t *testing.T) {
	for _, tt := range escapes {
		in, err := json.Marshal(map[string]string{tt.in: tt.in})
		if err != nil {
			t.Fatal(err)
		}
		out := term.EscapeJSON(in)
		var want, got map[string]string
		if err := errors.Join(json.Unmarshal(in, &want), json.Unmarshal(out, &got)); err != nil || !maps.Equal(want, got) {
			t.Errorf("%s: %s: %v", tt.name, out, err)
		}
		for _, r := range string(out) {
			if 0x7f <= r && r < 0xa0 || unicode.In(r, unicode.Bidi_Control) || 0xe0000 <= r && r < 0xe0100 {
				t.Errorf("%s: %U is in %s", tt.name, r, out)
			}
		}
	}
	plain := []byte(`{"a":"Grüße, 世界"}`)
	if got := term.EscapeJSON(plain); &got[0] != &plain[0] {
		t.Error("safe text was copied")
	}
}

func FuzzEscape(f *testing.F) {
	for _, tt := range escapes {
		f.Add(tt.in, 3)
	}
	f.Fuzz(func(t *testing.T, in string, cut int) {
		block, line := term.Escape(in), term.EscapeLine(in)
		checkSafe(t, in, block, false)
		checkSafe(t, in, line, true)
		command := term.EscapeCommand(in)
		checkKept(t, in, command, func(r rune) bool { return r == '\n' })
		for line := range strings.SplitSeq(strings.TrimSuffix(command, "\n"), "\n") {
			if strings.Contains(strings.TrimLeft(line, " "), "         ") {
				t.Fatalf("%+q: a long run of blanks is in %+q", in, line)
			}
		}
		if again := term.Escape(block); again != block {
			t.Fatalf("%+q: escaped %+q, twice %+q", in, block, again)
		}
		if again := term.EscapeLine(line); again != line {
			t.Fatalf("%+q: escaped %+q, twice %+q", in, line, again)
		}
		if cut >= 0 && cut <= len(in) {
			var e term.Escaper
			if got := e.Next(in[:cut]) + e.Next(in[cut:]) + e.End(); got != block {
				t.Fatalf("%+q cut at %d: %+q, want %+q", in, cut, got, block)
			}
		}
		if w := term.Width(term.Truncate(line, 10, "…")); w > 10 {
			t.Fatalf("%+q: truncated to %d cells", line, w)
		}
	})
}

func BenchmarkEscape(b *testing.B) {
	for name, text := range map[string]string{
		"ascii":   strings.Repeat("the quick brown fox jumps\n", 400),
		"unicode": strings.Repeat("Grüße — 世界 ✓ done\n", 400),
		"code":    strings.Repeat("func f(s string) error { return fmt.Errorf(\"ünd %w\", err) }\n", 400),
		"colour":  strings.Repeat("\x1b[31mred\x1b[0m text\n", 400),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				term.Escape(text)
			}
		})
	}
}
