// Command frame runs a program in its own terminal and writes its output as an SVG picture:
//
//	go run ./tools/frame -o docs/img/demo.svg -from '^> ' -to 'steps in' -- bin/lathe demo
//
// It understands lines and colours (SGR), which is all that plain output has. Full-screen programs are
// played in tmux, by a script of keys and pictures:
//
//	go run ./tools/frame docs/pictures/tui.play
//
// See play.go for the words of a script.
package main

import (
	"errors"
	"flag"
	"fmt"
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
	if out == "" && len(args) > 0 {
		for _, script := range args {
			if err := play(script); err != nil {
				return fmt.Errorf("%s: %w", script, err)
			}
		}
		return nil
	}
	if out == "" || len(args) == 0 {
		return errors.New("usage: frame -o FILE [-from RE] [-to RE] -- COMMAND...\n       frame SCRIPT...")
	}
	text, err := record(args)
	if err != nil {
		return err
	}
	lines, err := crop(strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), from, to)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(svg(lines, max(columns, columnsOf(lines)))), 0o644)
}

// columns of the terminal that plain output is written for.
const columns = 100

// record runs a command in a pty and returns its output.
func record(args []string) (string, error) {
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "TERM=xterm-256color")
	f, err := pty.StartWithSize(c, &pty.Winsize{Rows: 60, Cols: columns})
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
