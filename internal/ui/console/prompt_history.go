package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/base/regular"
	"github.com/lathe-dev/lathe/internal/event"
)

// promptHistory is the prompt history: a file that several processes append to, one prompt per line.
type promptHistory struct {
	path string
	dir  string

	mu   sync.Mutex
	all  []recalled // oldest first
	size int64      // bytes of the file that were read
}

// recalled is one earlier prompt.
type recalled struct {
	Text string    `json:"text"`
	Dir  string    `json:"dir"`
	Time time.Time `json:"time"`
}

const (
	historyMax   = 5_000     // prompts that are kept
	historyBytes = 8 << 20   // a file above this is cut down
	historyLine  = 256 << 10 // a longer prompt is not saved
)

func newPromptHistory(state, dir string) *promptHistory {
	return &promptHistory{path: filepath.Join(state, "history.jsonl"), dir: dir}
}

// add appends a prompt, unless it equals the previous one. A write error is ignored: the next prompt tries
// again.
func (p *promptHistory) add(text string) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > historyLine {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read()
	if n := len(p.all); n > 0 && p.all[n-1].Text == text && p.all[n-1].Dir == p.dir {
		return
	}
	r := recalled{text, p.dir, time.Now().UTC()}
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	p.all = append(p.all, r)
	if p.write(append(line, '\n')) == nil {
		p.read()
	}
}

// write appends one line under the lock; without it, the line could be lost when another process cuts the
// file.
func (p *promptHistory) write(line []byte) error {
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(p.path+".lock", flock.SetPermissions(0o600))
	// a process that was stopped may hold it for good
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	f, err := os.OpenFile(p.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	st, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return err
	}
	if st.Size() > historyBytes {
		return p.cut()
	}
	return nil
}

// cut keeps the newest prompts, at most half of the limit.
func (p *promptHistory) cut() error {
	b, err := regular.ReadFile(p.path)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	size, from := 0, len(lines)
	for from > 0 && len(lines)-from < historyMax && size+len(lines[from-1]) < historyBytes/2 {
		from--
		size += len(lines[from])
	}
	tmp := p.path + ".new"
	if err := os.WriteFile(tmp, bytes.Join(lines[from:], nil), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, p.path)
}

// read reads the lines appended since the last time, by any process.
func (p *promptHistory) read() {
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == p.size {
		return
	}
	if st.Size() < p.size { // another process cut the file
		p.size, p.all = 0, nil
	}
	if p.size == 0 {
		p.all = nil
	}
	if _, err := f.Seek(p.size, 0); err != nil {
		return
	}
	own := len(p.all)
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break // the end, or a line that is being written
		}
		p.size += int64(len(line))
		var one recalled
		if json.Unmarshal(line, &one) == nil && one.Text != "" && !slices.ContainsFunc(p.all[max(own-1, 0):], one.same) {
			p.all = append(p.all, one)
		}
	}
	if n := len(p.all) - historyMax; n > 0 {
		p.all = slices.Clone(p.all[n:])
	}
}

func (r recalled) same(o recalled) bool {
	return r.Text == o.Text && r.Dir == o.Dir && r.Time.Equal(o.Time)
}

// search lists earlier prompts that contain a text, without duplicates: newest first, those of this folder
// before the others.
func (p *promptHistory) search(text string, limit int) []event.Candidate {
	p.mu.Lock()
	p.read()
	all := p.all[:len(p.all):len(p.all)]
	p.mu.Unlock()
	if limit <= 0 {
		limit = 200
	}
	want := strings.ToLower(text)
	seen := map[string]bool{}
	var out []event.Candidate
	for _, here := range []bool{true, false} {
		for _, r := range slices.Backward(all) {
			if len(out) == limit {
				return out
			}
			if (r.Dir == p.dir) != here || seen[r.Text] {
				continue
			}
			marks, ok := contains(r.Text, want)
			if !ok {
				continue
			}
			seen[r.Text] = true
			c := event.Candidate{Text: r.Text, Marks: marks}
			if !here {
				c.Help = r.Dir
			}
			out = append(out, c)
		}
	}
	return out
}

// contains searches for want, which is in lower case, and returns the runes that matched.
func contains(text, want string) (marks []int, ok bool) {
	if want == "" {
		return nil, true
	}
	lower := strings.ToLower(text)
	at := strings.Index(lower, want)
	if at < 0 {
		return nil, false
	}
	if len(lower) != len(text) { // lower case changed the length: positions are unknown
		return nil, true
	}
	first := len([]rune(lower[:at]))
	for i := range len([]rune(want)) {
		marks = append(marks, first+i)
	}
	return marks, true
}
