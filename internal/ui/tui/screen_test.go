package tui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

// expect is the screen of a terminal of that width with styled lines, cell by cell.
func expect(w, h int, lines []string) [][]termtest.Cell {
	c := newCells()
	out := make([][]termtest.Cell, h)
	for y := range out {
		out[y] = make([]termtest.Cell, w)
		if y >= len(lines) {
			continue
		}
		for x, cell := range c.parse(nil, lines[y], w) {
			switch {
			case cell.rest:
				out[y][x] = termtest.Cell{Tail: true, Style: looks(c.styles[cell.style])}
			default:
				out[y][x] = termtest.Cell{Text: string(c.text(nil, cell)), Style: looks(c.styles[cell.style])}
			}
		}
	}
	return out
}

// looks is a style as a terminal has it that was told to use it.
func looks(st style) termtest.Style {
	s := termtest.NewScreen(1, 1)
	_, _ = s.Write(change(nil, style{}, st))
	return s.Pen
}

// visible reduces cells to their visible content.
func visible(grid [][]termtest.Cell) [][]string {
	out := make([][]string, len(grid))
	for y, row := range grid {
		out[y] = make([]string, len(row))
		for x, c := range row {
			if c.Text == "" && !c.Tail || c.Text == " " {
				c.Text, c.Style = " ", onBlank(c.Style)
			}
			if c.Tail {
				c.Text, c.Style = "<", termtest.Style{}
			}
			out[y][x] = fmt.Sprint(c.Text, c.Style)
		}
	}
	return out
}

// onBlank is the part of a style that can be seen on a blank.
func onBlank(s termtest.Style) termtest.Style {
	s.Bold, s.Faint, s.Italic, s.Blink, s.Conceal = false, false, false, false, false
	if !s.Reverse && !s.Strike && s.Under == 0 {
		s.FG, s.Line = "", ""
	}
	return s
}

var pieces = []string{
	"a", "b", "word ", " ", "   ", "世", "界", "é", "e\u0301", "👨\u200d👩\u200d👧", "🇩🇪", "\x1b[31m", "\x1b[1;38;2;10;20;30m",
	"\x1b[m", "\x1b[48;5;17m", "\x1b[7m", "\x1b[4:3m",
	"\x1b]8;;https://example.invalid/\x1b\\link\x1b]8;;\x1b\\", "─────", "\x1b[22;2m", "x1",
}

func drawLine(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "line"), "")
}

func TestTheTerminalShowsEveryFrameAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 30).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
		v, s := termtest.NewScreen(w, h), newScreen(w, h, false)
		_, _ = v.Write([]byte("\x1b[?7l\x1b[?1049h"))
		var lines []string
		for range rapid.IntRange(1, 12).Draw(t, "frames") {
			switch rapid.IntRange(0, 4).Draw(t, "change") {
			case 0:
				w, h = rapid.IntRange(1, 30).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
				v.Resize(w, h)
				s.resize(w, h)
			case 1: // scroll
				if n := rapid.IntRange(0, len(lines)).Draw(t, "by"); n > 0 {
					lines = append(append([]string{}, lines[n:]...), drawLine(t))
				}
			case 2:
				lines = append([]string{drawLine(t), drawLine(t)}, lines...)
			case 3:
				if len(lines) > 0 {
					lines = append([]string{}, lines...)
					lines[rapid.IntRange(0, len(lines)-1).Draw(t, "row")] = drawLine(t)
				}
			default:
				lines = rapid.SliceOfN(rapid.Custom(drawLine), 0, h).Draw(t, "lines")
			}
			f := frame{
				lines: lines, cx: rapid.IntRange(0, w-1).Draw(t, "cx"), cy: rapid.IntRange(0, h-1).Draw(t, "cy"),
				cursor: rapid.Bool().Draw(t, "cursor"),
			}
			_, _ = v.Write(s.paint(f))
			want := lines[:min(len(lines), h)]
			if diff := cmp.Diff(visible(expect(w, h, want)), visible(v.Grid)); diff != "" {
				t.Fatalf("%dx%d %q (-want +got):\n%s", w, h, want, diff)
			}
			if f.cursor && (v.X != f.cx || v.Y != f.cy || v.Hidden) {
				t.Fatalf("the cursor is at %d,%d (hidden %v), want %d,%d", v.X, v.Y, v.Hidden, f.cx, f.cy)
			}
			if v.Clears > 0 || len(v.Unknown) > 0 {
				t.Fatalf("%d full clears, unknown sequences %q", v.Clears, v.Unknown)
			}
		}
	})
}

func TestInlineFramesLeaveWhatIsFinishedAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := 20, rapid.IntRange(3, 10).Draw(t, "h")
		v, s := termtest.NewScreen(w, h), newScreen(w, h, true)
		start := rapid.IntRange(0, h-1).Draw(t, "start")
		_, _ = v.Write([]byte("\x1b[?7l" + strings.Repeat("before\r\n", start)))
		var want []string
		for range start {
			want = append(want, "before")
		}
		n := 0
		for range rapid.IntRange(1, 15).Draw(t, "frames") {
			var f frame
			for range rapid.IntRange(0, 2*h).Draw(t, "above") {
				f.above = append(f.above, fmt.Sprint("line ", n))
				want = append(want, fmt.Sprint("line ", n))
				n++
			}
			for i := range rapid.IntRange(1, h-1).Draw(t, "live") {
				f.lines = append(f.lines, fmt.Sprint("live ", i, " ", rapid.IntRange(0, 3).Draw(t, "x")))
			}
			f.cursor, f.cy = true, len(f.lines)-1
			_, _ = v.Write(s.paint(f))
			if diff := cmp.Diff(append(append([]string{}, want...), f.lines...), v.All()); diff != "" {
				t.Fatalf("height %d (-want +got):\n%s", h, diff)
			}
		}
	})
}

func TestAnEchoIsAFewBytes(t *testing.T) {
	s := newScreen(120, 40, false)
	lines := make([]string, 40)
	for i := range lines {
		lines[i] = strings.Repeat("x", 100)
	}
	lines[38] = "> hell"
	s.paint(frame{lines: lines, cx: 6, cy: 38, cursor: true})
	lines = append([]string{}, lines...)
	lines[38] = "> hello"
	if got := string(s.paint(frame{lines: lines, cx: 7, cy: 38, cursor: true})); got != "o" {
		t.Errorf("wrote %q", got)
	}
	if got := string(s.paint(frame{lines: lines, cx: 7, cy: 38, cursor: true})); got != "" {
		t.Errorf("wrote %q for the same frame", got)
	}
}

func TestScrollingWritesOnlyWhatIsNew(t *testing.T) {
	s := newScreen(120, 40, false)
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("%03d %s", i, strings.Repeat("word ", 20)))
	}
	frameAt := func(n int) frame {
		return frame{lines: append(append([]string{}, lines[n:n+38]...), "> ", "status"), cx: 2, cy: 38, cursor: true}
	}
	s.paint(frameAt(0))
	if n := len(s.paint(frameAt(3))); n > 450 {
		t.Errorf("three new lines took %d bytes", n)
	}
	if n := len(s.paint(frameAt(0))); n > 450 {
		t.Errorf("back took %d bytes", n)
	}
}

// writer is a way to bring frames to a terminal; it returns the bytes written for one.
type writer func(lines []string, cx, cy int) int

func ownWriter(w, h int) writer {
	s := newScreen(w, h, false)
	return func(lines []string, cx, cy int) int {
		return len(s.paint(frame{lines: lines, cx: cx, cy: cy, cursor: true}))
	}
}

// ultravioletWriter is the renderer of ultraviolet, with scrolling by the terminal's own means switched on.
func ultravioletWriter(w, h int) writer {
	var out bytes.Buffer
	r := uv.NewTerminalRenderer(&out, []string{"TERM=xterm-256color", "COLORTERM=truecolor"})
	r.SetColorProfile(colorprofile.TrueColor)
	r.SetFullscreen(true)
	r.SetScrollOptim(true)
	buf := uv.NewScreenBuffer(w, h)
	return func(lines []string, cx, cy int) int {
		out.Reset()
		uv.NewStyledString(strings.Join(lines, "\n")).Draw(buf, buf.Bounds())
		r.Render(buf.RenderBuffer)
		r.MoveTo(cx, cy)
		if err := r.Flush(); err != nil {
			panic(err)
		}
		return out.Len()
	}
}

// BenchmarkScreenWriter compares the screen writer with the renderer of ultraviolet, on the most frequent changes: a
// reply that scrolls by five lines a frame, one that grows in its last line, and a key that is echoed.
func BenchmarkScreenWriter(b *testing.B) {
	const w, h = 120, 40
	var text []string
	for i := range 1000 {
		text = append(text, fmt.Sprintf("\x1b[1m%03d\x1b[m %s", i, strings.Repeat("\x1b[38;5;12mword\x1b[m ", 20)))
	}
	at := func(from int, live, typed string) []string {
		return append(append([]string{}, text[from:from+h-3]...), live, "> "+typed, "status")
	}
	frames := map[string]func(i int) ([]string, int){
		"scroll": func(i int) ([]string, int) { return at(i*5%900, "", ""), 2 },
		"grow":   func(i int) ([]string, int) { return at(0, strings.Repeat("word ", i%20), ""), 2 },
		"echo":   func(i int) ([]string, int) { return at(0, "", strings.Repeat("x", i%60)), 2 + i%60 },
	}
	for _, kind := range []string{"scroll", "grow", "echo"} {
		for _, of := range []struct {
			name string
			open func(w, h int) writer
		}{{"own", ownWriter}, {"ultraviolet", ultravioletWriter}} {
			b.Run(kind+"/"+of.name, func(b *testing.B) {
				write, written := of.open(w, h), 0
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					lines, cx := frames[kind](i)
					written += write(lines, cx, h-2)
				}
				b.ReportMetric(float64(written)/float64(b.N), "B/frame")
			})
		}
	}
}
