package tool

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// readable runs bytes through both stages, cut into the given pieces.
func readable(pieces ...[]byte) string {
	var p plainText
	var l lineText
	var out []byte
	emit := func(b []byte) { out = append(out, b...) }
	for _, piece := range pieces {
		l.add(p.add(nil, piece), emit)
	}
	l.add(p.end(nil), emit)
	l.end(emit)
	return string(out)
}

func TestTerminalOutputBecomesText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":        "plain\ttext\n",
		"\x1b[1;31mred\x1b[0m": "red",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "alink",
		"\x1bP1$r0m\x1b\\b\x1b_x\x1b\\c\x1b^y\x07d":                 "bcd",
		"\x1b(Ba\x1b=b\x1b7c\x1bMd":                                 "abcd",
		"a\x1b[12\nb":                                               "a\nb",
		"a\x1b]never closed\nb":                                     "a\nb",
		"a\x1b":                                                     "a",
		"\x00\x01a\x7fb\x07":                                        "ab",
		"dos\r\nline\r\n":                                           "dos\nline\n",
		"  1%\r 50%\r100%\ndone":                                    "100%\ndone",
		"100%\r":                                                    "100%",
		"bold b\bbo\bol\bld\bd":                                     "bold bold",
		"\b\bx":                                                     "x",
		"ä\b€":                                                      "€",
		"a\xff\xfe\xfdb\xc3":                                        "a\uFFFDb\uFFFD",
		"\xe2\x82":                                                  "\uFFFD",
		"\xe2\x82a\xe2\x82\xac":                                     "\uFFFDa€",
		"a\u202Eb\U000E0041\u0085c":                                 "a<U+202E>b<U+E0041>c",
		"x\u200Dy 👨\u200D👩":                                         "x\u200Dy 👨\u200D👩",
	} {
		if got := readable([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTextIsTheSameHoweverItIsCut(t *testing.T) {
	pieces := []string{
		"a", "\n", "\r", "\b", "\x1b", "[", "]", "1;2", "m", "\x07", "\\", "ä", "€", "😀", "\xc3",
		"\xe2\x82", "\xf0\x9f", "\xff", "P", "\x00",
	}
	rapid.Check(t, func(t *rapid.T) {
		all := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "bytes"), "")
		var cut [][]byte
		for rest := all; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			cut, rest = append(cut, []byte(rest[:n])), rest[n:]
		}
		whole, parts := readable([]byte(all)), readable(cut...)
		if whole != parts {
			t.Fatalf("%q: whole %q, in pieces %q", all, whole, parts)
		}
		if !utf8.ValidString(whole) || strings.ContainsAny(whole, "\x1b\r\b\x00\x07") {
			t.Fatalf("%q: got %q", all, whole)
		}
	})
}

func TestVeryLongLinesKeepMemoryFlat(t *testing.T) {
	out := &bashText{
		limit: 1000, live: liveText{send: func(string) {}},
		blob: func() (BlobWriter, error) { return discard{}, nil },
	}
	chunk := []byte(strings.Repeat("x", 64<<10))
	for range 1000 {
		_, _ = out.Write(chunk)
	}
	out.live.mu.Lock() // its timer may run
	live := cap(out.live.buf)
	out.live.mu.Unlock()
	if n := cap(out.tail) + cap(out.head) + cap(out.raw) + cap(out.lines.line) + cap(out.scratch) + live; n > 1<<20 {
		t.Errorf("%d bytes are held", n)
	}
	if got := out.finish(); got.size != 64<<10*1000 || len(got.text) > 1200 {
		t.Errorf("got %d bytes of %d", len(got.text), got.size)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error)       { return len(p), nil }
func (discard) ReadAt([]byte, int64) (int, error) { return 0, nil }
func (discard) Commit() (string, error)           { return "/blob", nil }
func (discard) Close() error                      { return nil }

func TestExitCodeOneCanBeAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		command, output string
		want            string
	}{
		{"grep x f", "", "no lines matched"},
		{"/usr/bin/rg 'a|b && c' src", "", "no lines matched"},
		{"LC_ALL=C grep -c x f", "0", "no lines matched"},
		{"cat f | sort | grep x", "", "no lines matched"},
		{"make; git grep x", "out", "no lines matched"},
		{"cd src && grep -rn x . 2>&1", "", "no lines matched"},
		{"cd src && grep -rn x .", "bash: line 1: cd: src: No such file or directory", ""},
		{"make && grep x f", "", ""},
		{"grep x f || false", "", ""},
		{"grep x f && echo yes", "", ""},
		{"grep x f; make", "", ""},
		{"grep $(false) f", "", ""},
		{"diff a b", "<", "the files differ"},
		{"git diff --exit-code", "", "the files differ"},
		{"git status", "", ""},
		{"test -f x", "", "the condition is false"},
		{"[[ a == b ]]", "", "the condition is false"},
		{"find / -name x", "find: ...", "some folders could not be read"},
		{"echo 'it is", "", ""},
		{"grep x f &", "", ""},
		{"X=1", "", ""},
		{"", "", ""},
		{"| grep", "", "no lines matched"},
		{"for f in *; do grep x; done", "", ""},
	} {
		if got := exitMeaning(tt.command, 1, tt.output); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.command, got, tt.want)
		}
	}
	if got := exitMeaning("grep x f", 2, ""); got != "" {
		t.Errorf("code 2: %q", got)
	}
}

func FuzzSplitCommands(f *testing.F) {
	f.Add(`a 'b' "c\"" | d && e`)
	f.Fuzz(func(t *testing.T, s string) {
		cmds, joins, ok := splitCommands(s)
		if ok && len(cmds) != len(joins)+1 {
			t.Errorf("%q: %q, %q", s, cmds, joins)
		}
		exitMeaning(s, 1, "")
	})
}

func BenchmarkBashOutput(b *testing.B) {
	chunk := []byte(strings.Repeat("a line of ordinary output with \x1b[31mcolour\x1b[0m and more\n", 1000))
	out := &bashText{
		limit: bashOutput, live: liveText{send: func(string) {}},
		blob: func() (BlobWriter, error) { return discard{}, nil },
	}
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		_, _ = out.Write(chunk)
	}
}

func TestBashTimeoutIsBounded(t *testing.T) {
	env := &Commands{Files: &Files{Limits: Limits{BashTimeout: time.Minute, BashMaxTimeout: 2 * time.Minute}}}
	for ms, want := range map[int64]time.Duration{
		0: time.Minute, 1000: time.Second, 1 << 62: 2 * time.Minute,
		120_001: 2 * time.Minute,
	} {
		if got := (&bashCall{env: env, in: bashInput{Timeout: ms}}).timeout(); got != want {
			t.Errorf("%d ms: got %s, want %s", ms, got, want)
		}
	}
}

// The model plans with these numbers: its description of the tool has them too.
func TestBashHasTheLimitsThatItsDescriptionStates(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		0: 2 * time.Minute, 1000: time.Second, 600_000: 10 * time.Minute,
		600_001: 10 * time.Minute,
	} {
		if got := (&bashCall{env: &Commands{Files: &Files{}}, in: bashInput{Timeout: ms}}).timeout(); got != want {
			t.Errorf("%d ms: got %s, want %s", ms, got, want)
		}
	}
	if !strings.Contains(bashDescription, "milliseconds, default 120000, at most 600000") {
		t.Errorf("the description states other limits:\n%s", bashDescription)
	}
}
