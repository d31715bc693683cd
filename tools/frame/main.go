// Command frame runs a program in a terminal of its own and writes what it printed as an SVG picture:
//
//	go run ./tools/frame -o docs/img/demo.svg -from '^> ' -to 'steps in' -- bin/lathe demo
//
// It understands lines and colours (SGR), which is all that plain output has; full-screen programs need a
// terminal emulator.
package main

import (
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"

	"github.com/creack/pty"
)

func main() {
	out := flag.String("o", "", "the SVG `file` to write")
	from := flag.String("from", "", "the first line shown matches this `regexp`")
	to := flag.String("to", "", "the last line shown matches this `regexp`")
	flag.Parse()
	if err := run(*out, *from, *to, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "frame:", err)
		os.Exit(1)
	}
}

func run(out, from, to string, args []string) error {
	if out == "" || len(args) == 0 {
		return errors.New("usage: frame -o FILE [-from RE] [-to RE] -- COMMAND...")
	}
	text, err := record(args)
	if err != nil {
		return err
	}
	lines, err := crop(strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), from, to)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(svg(lines)), 0o644)
}

// record runs a command in a pty and returns what it wrote.
func record(args []string) (string, error) {
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "TERM=xterm-256color")
	f, err := pty.StartWithSize(c, &pty.Winsize{Rows: 60, Cols: 100})
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil && !errors.Is(err, syscall.EIO) { // a pty ends with EIO
		return "", err
	}
	return string(b), c.Wait()
}

// crop keeps the lines from the first that matches from to the first after it that matches to.
func crop(lines []string, from, to string) ([]string, error) {
	start, end := 0, len(lines)
	for _, cut := range []struct {
		expr string
		set  func(i int)
		have func() int
	}{
		{from, func(i int) { start = i }, func() int { return 0 }},
		{to, func(i int) { end = i + 1 }, func() int { return start }},
	} {
		if cut.expr == "" {
			continue
		}
		re, err := regexp.Compile(cut.expr)
		if err != nil {
			return nil, err
		}
		found := false
		for i := cut.have(); i < len(lines) && !found; i++ {
			if found = re.MatchString(plain(lines[i])); found {
				cut.set(i)
			}
		}
		if !found {
			return nil, fmt.Errorf("no line matches %q", cut.expr)
		}
	}
	return lines[start:end], nil
}

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

func plain(s string) string { return sgr.ReplaceAllString(s, "") }

// colours of the dark theme, by SGR code.
var colours = map[string]string{
	"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd",
}

const (
	cellW, cellH, pad = 8.4, 18.0, 16.0
	columns           = 100
)

// svg draws lines of text with colours.
func svg(lines []string) string {
	var b strings.Builder
	w, h := columns*cellW+2*pad, float64(len(lines))*cellH+2*pad
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n", w, h, w, h)
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#0d1117"/>` + "\n")
	b.WriteString(`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" fill="#e6edf3" xml:space="preserve">` + "\n")
	for i, l := range lines {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f">%s</text>`+"\n", pad, pad+float64(i)*cellH+13, spans(strings.ReplaceAll(l, "\t", "    ")))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// spans turns SGR sequences into tspan elements.
func spans(line string) string {
	var b strings.Builder
	attr := ""
	emit := func(s string) {
		s = strings.ReplaceAll(html.EscapeString(s), " ", "\u00a0")
		switch {
		case s == "":
		case attr == "":
			b.WriteString(s)
		default:
			b.WriteString("<tspan" + attr + ">" + s + "</tspan>")
		}
	}
	last := 0
	for _, m := range sgr.FindAllStringSubmatchIndex(line, -1) {
		emit(line[last:m[0]])
		attr, last = attributes(line[m[2]:m[3]]), m[1]
	}
	emit(line[last:])
	return b.String()
}

func attributes(codes string) string {
	out := ""
	for code := range strings.SplitSeq(codes, ";") {
		switch {
		case code == "1":
			out += ` font-weight="bold"`
		case code == "2":
			out += ` fill="#8b949e"`
		case colours[code] != "":
			out += ` fill="` + colours[code] + `"`
		}
	}
	return out
}
