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
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// ripgrep is the path of ripgrep on the clean PATH, or "": searching asks for no permission, so it must not
// run programs that a repository brings along.
func (e *Files) ripgrep() string { return e.Machine().Program("rg", e.Dir.Get()) }

// rgArgs are the arguments for a search in the current folder. The pattern and globs are the model's: each
// stands where it cannot be taken for a flag, and no configuration file is read, so that rg can
// run no other program (--pre) and follow no link.
func (s *search) rgArgs() []string {
	args := []string{
		"--no-config", "--no-messages", "--color=never", "--hidden", "--no-require-git", "--no-ignore-global",
		"--no-follow", "--crlf",
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
	switch {
	case s.mode == modeFiles:
		args = append(args, "--files-with-matches", "--null")
	case s.mode == modeContent:
		args = append(args, "--json", "--max-count="+strconv.Itoa(s.need()),
			"--before-context="+strconv.Itoa(s.before), "--after-context="+strconv.Itoa(s.after))
	case s.in.OnlyMatch || s.in.Multiline:
		args = append(args, "--count-matches", "--null")
	default:
		args = append(args, "--count", "--null")
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
		Env: sandbox.CleanEnv(s.env.environ(), sandbox.Options{
			Drop: []string{"RIPGREP_CONFIG_PATH"}, ScrubCredentials: true,
		}),
		Stdout: in, Stderr: &complaint, Reads: true,
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
		return nil, fmt.Errorf("ripgrep cannot search for this: %.4000s. "+
			"Simplify the pattern, or escape its special characters", bytes.TrimSpace(complaint.Bytes()))
	}
	return h, nil
}

func (s *search) readRipgrep(out io.Reader) (*hits, error) {
	h := &hits{}
	r := bufio.NewReaderSize(out, 64<<10)
	var err error
	if s.mode == modeContent {
		err = s.readLines(r, h)
	} else {
		err = s.readCounts(r, h)
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

// readCounts reads paths, each with its number of matches where they are counted.
func (s *search) readCounts(r *bufio.Reader, h *hits) error {
	for {
		path, err := r.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		n := "1"
		if err == nil && s.mode == modeCount {
			n, err = r.ReadString('\n')
		}
		if err != nil {
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
		Path         rgText   `json:"path"`
		Lines        rgText   `json:"lines"`
		LineNumber   int      `json:"line_number"`
		Submatches   []rgSpan `json:"submatches"`
		BinaryOffset *int64   `json:"binary_offset"`
	} `json:"data"`
}

type rgSpan struct {
	Start int `json:"start"`
	End   int `json:"end"`
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
	match, text, num := m.Type == "match", m.Data.Lines.raw(), m.Data.LineNumber
	if match {
		f.count++
	}
	if !match || !s.in.OnlyMatch {
		first := append(m.Data.Submatches, rgSpan{})[0]
		f.add(num, text, match, first.Start, first.End)
		return
	}
	for _, sub := range m.Data.Submatches {
		f.add(num+bytes.Count(text[:sub.Start], []byte("\n")), text[sub.Start:sub.End], true, 0, 0)
	}
}
