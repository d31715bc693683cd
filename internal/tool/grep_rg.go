package tool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// ripgrep is the path of ripgrep on the clean PATH, or "": searching asks for no permission, so it must not
// run programs that a repository brings along.
func (e *Env) ripgrep() string { return e.Machine().Program("rg", e.Dir.Get()) }

// rgArgs are the arguments for a search in the current folder. The pattern and globs are the model's: each
// stands where it cannot be taken for a flag, and no configuration file is read, so that rg can
// run no other program (--pre) and follow no link.
func (s *search) rgArgs() []string {
	args := []string{
		"--no-config", "--no-messages", "--color=never", "--hidden", "--no-require-git", "--no-ignore-global", "--no-follow", "--crlf",
	}
	if files.Excluded(s.start.Real) {
		args = append(args, "--no-ignore-parent")
	}
	if own := files.GlobalIgnore(); own != "" {
		args = append(args, "--ignore-file="+own)
	}
	for _, vcs := range []string{".git", ".hg", ".svn", ".jj", ".bzr", ".sl"} {
		args = append(args, "--glob=!"+vcs+"/")
	}
	for _, g := range s.filter.want {
		args = append(args, "--glob="+g.text)
	}
	for _, g := range s.filter.refuse {
		args = append(args, "--glob=!"+g.text)
	}
	for _, g := range s.filter.types {
		args = append(args, "--type-add=lathe:"+g)
	}
	switch {
	case s.filter.types != nil:
		args = append(args, "--type=lathe")
	case s.in.Type != "":
		args = append(args, "--type="+s.in.Type)
	}
	if s.in.IgnoreCase {
		args = append(args, "--ignore-case")
	}
	if s.in.Multiline {
		args = append(args, "--multiline", "--multiline-dotall")
	}
	switch s.mode {
	case modeFiles:
		args = append(args, "--files-with-matches", "--null")
	case modeCount:
		if s.in.OnlyMatch || s.in.Multiline {
			args = append(args, "--count-matches", "--null")
		} else {
			args = append(args, "--count", "--null")
		}
	default:
		args = append(args, "--json", "--max-count="+strconv.Itoa(s.need()), "--before-context="+strconv.Itoa(s.before), "--after-context="+strconv.Itoa(s.after))
	}
	return append(args, "--", s.in.Pattern, "./")
}

// ripgrep searches a folder with rg.
func (s *search) ripgrep(ctx context.Context, rg string) (*hits, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out, in := io.Pipe()
	var complaint bytes.Buffer
	s.below = strings.TrimSuffix(s.start.Real, string(filepath.Separator)) + string(filepath.Separator)
	spec := sandbox.Spec{
		Argv: append([]string{rg}, s.rgArgs()...), Dir: s.start.Real,
		Env:    sandbox.CleanEnv(s.env.environ(), sandbox.Options{Drop: []string{"RIPGREP_CONFIG_PATH"}, ScrubCredentials: true}),
		Stdout: in, Stderr: &limitedWriter{w: &complaint, left: 4096}, Reads: true,
	}
	var exit sandbox.Exit
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		exit, err = s.env.Runner.Run(ctx, spec)
		_ = in.Close()
	}()
	h, readErr := s.readRipgrep(out)
	_ = out.Close() // the rest of rg's output is not wanted
	if readErr != nil {
		stop()
	}
	<-ended
	switch {
	case readErr != nil:
		return h, readErr
	case ctx.Err() != nil:
		return h, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errNoRipgrep, err)
	case exit.Code > 1 && len(h.files) == 0:
		return nil, fmt.Errorf("ripgrep cannot search for this: %s. Simplify the pattern, or escape its special characters", strings.TrimSpace(complaint.String()))
	}
	return h, nil
}

// limitedWriter keeps the first bytes and drops the rest.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	keep := p[:min(len(p), l.left)]
	l.left -= len(keep)
	if _, err := l.w.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *search) readRipgrep(out io.Reader) (*hits, error) {
	h := &hits{}
	r := bufio.NewReaderSize(out, 64<<10)
	var err error
	switch s.mode {
	case modeFiles:
		err = s.readFiles(r, h)
	case modeCount:
		err = s.readCounts(r, h)
	default:
		err = s.readLines(r, h)
	}
	s.order(h)
	return h, err
}

// add takes over rg's matches in a file. To rg a file that a glob names need not be of the type; here it must
// be both. Files that may not be shown leave no trace.
func (s *search) add(h *hits, f fileHits) bool {
	if !s.filter.ofType(f.rel) || !s.mayShow(f.path) {
		return false
	}
	h.files = append(h.files, f)
	return true
}

// order puts the files into the order in which they are shown and drops lines beyond those that are needed.
func (s *search) order(h *hits) {
	if s.mode != modeFiles {
		slices.SortFunc(h.files, func(a, b fileHits) int { return walkOrder(a.rel, b.rel) })
	}
	s.trim(h)
}

// place fills in where a path that rg printed is.
func (s *search) place(path string) fileHits {
	rel := strings.TrimPrefix(filepath.ToSlash(path), "./")
	f := fileHits{rel: rel, path: s.below + filepath.FromSlash(rel)} // rg's paths are clean
	if s.mode == modeFiles {
		if info, err := os.Lstat(f.path); err == nil {
			f.mtime = info.ModTime()
		}
	}
	return f
}

func (s *search) readFiles(r *bufio.Reader, h *hits) error {
	for {
		path, err := r.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f := s.place(strings.TrimSuffix(path, "\x00"))
		f.count = 1
		s.add(h, f)
	}
}

func (s *search) readCounts(r *bufio.Reader, h *hits) error {
	for {
		path, err := r.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n, err := r.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		f := s.place(strings.TrimSuffix(path, "\x00"))
		if f.count, err = strconv.Atoi(strings.TrimSpace(n)); err != nil {
			return fmt.Errorf("ripgrep printed a count of %q", n)
		}
		s.add(h, f)
	}
}

// rgText is a text in rg's JSON: as it is, or base64 when it is not UTF-8.
type rgText struct {
	Text  *string `json:"text"`
	Bytes []byte  `json:"bytes"`
}

func (t rgText) raw() []byte {
	if t.Text != nil {
		return []byte(*t.Text)
	}
	return t.Bytes
}

// rgMessage is one line of rg --json (documented at docs.rs/grep-printer, struct JSON).
type rgMessage struct {
	Type string `json:"type"`
	Data struct {
		Path       rgText `json:"path"`
		Lines      rgText `json:"lines"`
		LineNumber int    `json:"line_number"`
		Submatches []struct {
			Start int `json:"start"`
			End   int `json:"end"`
		} `json:"submatches"`
		BinaryOffset *int64 `json:"binary_offset"`
	} `json:"data"`
}

// errNoRipgrep says that ripgrep is there and cannot be started.
var errNoRipgrep = errors.New("ripgrep cannot be started; search with a simpler pattern, or with grep in Bash")

// errFrequent says that a pattern has far more matches than are needed.
var errFrequent = errors.New("the pattern is frequent")

// readLines reads the files in the order in which rg is done with them, which is chance, so all of them count;
// it holds no more than twice the lines that are needed.
func (s *search) readLines(r *bufio.Reader, h *hits) error {
	total, all := 0, 0
	var f fileHits
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var m rgMessage
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("ripgrep printed a line that is not its JSON: %w", err)
		}
		switch m.Type {
		case "begin":
			f = s.place(string(m.Data.Path.raw()))
		case "match", "context":
			s.addLines(&f, &m)
		case "end":
			if !s.empty(f) && m.Data.BinaryOffset == nil && s.add(h, f) {
				total += len(f.lines)
				all += len(f.lines)
			}
			if s.giveUp && all > 8*s.need() {
				return errFrequent
			}
			if total >= 2*s.need() {
				s.order(h)
				total = s.need()
			}
		}
	}
}

// addLines adds the lines of one message: one line, or the lines of a match that spans several.
func (s *search) addLines(f *fileHits, m *rgMessage) {
	match := m.Type == "match"
	text := m.Data.Lines.raw()
	num := m.Data.LineNumber
	if match {
		f.count++
	}
	if match && s.in.OnlyMatch {
		for _, sub := range m.Data.Submatches {
			if sub.Start == sub.End {
				continue
			}
			at := num + bytes.Count(text[:sub.Start], []byte("\n"))
			for part := range bytes.SplitSeq(bytes.TrimSuffix(text[sub.Start:sub.End], []byte("\n")), []byte("\n")) {
				f.lines = append(f.lines, hitLine{num: at, text: clipLine(trimLine(part), 0, 0), match: true})
				at++
			}
		}
		return
	}
	start, end := 0, 0
	if len(m.Data.Submatches) > 0 {
		start, end = m.Data.Submatches[0].Start, m.Data.Submatches[0].End
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		line = trimLine(line)
		h := hitLine{num: num, match: match, text: clipLine(line, min(start, len(line)), min(end, len(line)))}
		h.gap = len(f.lines) > 0 && num > f.lines[len(f.lines)-1].num+1
		f.lines = append(f.lines, h)
		num++
		start, end = 0, 0
	}
}
