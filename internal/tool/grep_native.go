package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// The engine in this process: one goroutine walks and opens files, a few search them.

const (
	smallTree    = 300      // files of a tree that is searched here although ripgrep is there
	smallBytes   = 8 << 20  // and their bytes
	worthwhile   = 10       // times as much, when enough lines will be found in that
	multilineMax = 32 << 20 // bytes of a file that is searched across lines
	chunkSize    = 256 << 10
	batchFiles   = 16 // handed to a worker at once
)

// errLargeTree says that a tree is more than the budget.
var errLargeTree = errors.New("the tree is large")

// native searches in this process. budget, if not 0, is the number of files at most.
func (s *search) native(ctx context.Context, m *matcher, budget int) (*hits, error) {
	if !s.start.Info.IsDir() {
		return s.nativeFile(ctx, m)
	}
	p := &pool{s: s, m: m, ctx: ctx, jobs: make(chan []job, 2), found: map[int]fileHits{}}
	for range min(4, max(2, runtime.GOMAXPROCS(0))) {
		p.wait.Go(p.work)
	}
	walked, err := s.env.Roots.Walk(ctx, s.start, s.walkOptions(), p.feed(&budgetLeft{files: budget, bytes: smallBytes}))
	p.flush()
	close(p.jobs)
	p.wait.Wait()
	h := p.collect()
	if walked.Unreadable > 0 {
		h.note = strings.TrimSpace(h.note + fmt.Sprintf(" %d folders could not be read.", walked.Unreadable))
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil && !errors.Is(err, errLargeTree) && !errors.Is(err, context.DeadlineExceeded) {
		err = pathError("search", s.start, err)
	}
	return h, err
}

func (s *search) walkOptions() files.WalkOptions {
	return files.WalkOptions{
		Ignore:    true,
		KeepFiles: true, // a glob may name them
		Enter: func(name, rel string, ignored bool) bool {
			return !files.VCSFolder(name) && s.filter.enter(rel) && (!ignored || s.filter.names(rel))
		},
	}
}

// nativeFile searches the one file that was named, whatever globs and ignore files say.
func (s *search) nativeFile(ctx context.Context, m *matcher) (*hits, error) {
	target, err := s.env.Roots.Hold(s.start)
	if err != nil {
		return nil, pathError("search", s.start, err)
	}
	defer target.Close()
	if err := bounded(s.start.Real); err != nil {
		return nil, pathError("search", s.start, err)
	}
	f, info, err := target.Open()
	if err != nil {
		return nil, pathError("search", s.start, err)
	}
	defer f.Close()
	in, release := newPatient(ctx, f)
	defer release()
	sc := &scanner{s: s, m: m, ctx: ctx}
	fh, err := sc.file(in)
	if errors.Is(err, errBinary) {
		return &hits{note: "It is a binary file, which is not searched."}, nil
	}
	late := errors.Is(err, context.DeadlineExceeded) // then there are the matches so far
	if err != nil && !late {
		return nil, pathError("search", s.start, err)
	}
	h := &hits{note: sc.longNote()}
	if in.waited {
		h.note = strings.TrimSpace(h.note + fmt.Sprintf(" The file has no end: it was searched as far as it could be read before nothing came for %s.", newsWait))
	}
	if !s.empty(fh) {
		fh.path, fh.rel, fh.mtime = s.start.Lexical, path.Base(s.start.Real), info.ModTime()
		h.files = []fileHits{fh}
	}
	s.trim(h)
	if late {
		return h, err
	}
	return h, nil
}

// job is one open file.
type job struct {
	index int
	f     *os.File
	entry files.Entry
}

// pool shares the files of a walk among workers. Files are numbered in the order of the walk.
type pool struct {
	s     *search
	m     *matcher
	ctx   context.Context
	jobs  chan []job
	batch []job          // not handed out yet: waking a worker for each file takes as long as searching a small one
	open  sync.WaitGroup // jobs handed out and not done
	wait  sync.WaitGroup
	lines atomic.Int64 // found so far

	mu      sync.Mutex
	found   map[int]fileHits
	skipped int // unreadable or too large
	endless int // searched as far as they could be read without waiting
}

// budgetLeft is how much of a tree is searched here at most; no files at the start means all of it.
type budgetLeft struct {
	files, seen   int
	bytes, read   int64
	extended, all bool
}

// feed opens the files of a walk and hands them out. Once enough lines were found it ends the walk: the
// files handed out so far come first in the order in which results are shown.
func (p *pool) feed(left *budgetLeft) func(files.Entry) error {
	need := int64(p.s.need())
	left.all = left.files == 0
	index := 0
	return func(e files.Entry) error {
		if e.Type != 0 || !p.s.filter.match(e.Rel, e.Ignored) {
			return nil // not a regular file, or not asked for
		}
		if p.s.hidden(e.Path) {
			return nil
		}
		if p.s.mode == modeContent && p.lines.Load() >= need {
			return files.SkipAll
		}
		f, err := e.Open()
		if err != nil {
			p.skip()
			return nil
		}
		if !p.within(left, f) {
			return errors.Join(errLargeTree, f.Close())
		}
		p.open.Add(1)
		if p.batch = append(p.batch, job{index, f, e}); len(p.batch) >= batchFiles {
			p.flush()
		}
		index++
		return nil
	}
}

// flush hands out the files of the batch.
func (p *pool) flush() {
	if len(p.batch) > 0 {
		p.jobs <- p.batch
		p.batch = nil
	}
}

// within counts one more file against the budget. When that is used up and the lines found so far promise
// that enough are near, it is extended once: ripgrep cannot stop early, since it finds files in no order.
func (p *pool) within(left *budgetLeft, f *os.File) bool {
	if left.all {
		return true
	}
	if info, err := f.Stat(); err == nil {
		left.read += info.Size()
	}
	left.seen++
	if left.seen <= left.files && left.read <= left.bytes {
		return true
	}
	if left.extended || p.s.mode != modeContent {
		return false
	}
	p.flush()
	p.open.Wait() // so that the engine depends on the files alone
	left.extended = true
	factor := int64(worthwhile)
	if len(p.m.literal) == 0 {
		factor /= 3 // ripgrep is several times faster then
	}
	left.files, left.bytes = left.files*int(factor), left.bytes*factor
	return p.lines.Load()*factor >= 2*int64(p.s.need())
}

func (p *pool) skip() {
	p.mu.Lock()
	p.skipped++
	p.mu.Unlock()
}

func (p *pool) work() {
	sc := &scanner{s: p.s, m: p.m, ctx: p.ctx}
	for batch := range p.jobs {
		for _, j := range batch {
			p.one(sc, j)
			p.open.Done()
		}
	}
}

func (p *pool) one(sc *scanner, j job) {
	defer j.f.Close()
	if p.ctx.Err() != nil {
		return
	}
	in, release := newPatient(p.ctx, j.f)
	defer release()
	fh, err := sc.file(in)
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || p.s.empty(fh)) {
		if !errors.Is(err, errBinary) {
			p.skip()
		}
		return
	}
	if in.waited {
		p.mu.Lock()
		p.endless++
		p.mu.Unlock()
	}
	if p.s.empty(fh) {
		return
	}
	fh.path, fh.rel = j.entry.Path, j.entry.Rel
	if info, err := j.f.Stat(); err == nil {
		fh.mtime = info.ModTime()
	}
	p.lines.Add(int64(max(1, len(fh.lines))))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found[j.index] = fh
}

// collect sorts the matches in the order of the walk.
func (p *pool) collect() *hits {
	h := &hits{}
	order := make([]int, 0, len(p.found))
	for i := range p.found {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		h.files = append(h.files, p.found[i])
	}
	p.s.trim(h)
	if p.skipped > 0 {
		h.note = fmt.Sprintf("%d files could not be searched.", p.skipped)
	}
	if p.endless > 0 {
		h.note = strings.TrimSpace(h.note + fmt.Sprintf(" %d files have no end and were searched as far as they could be read before nothing came for %s.", p.endless, newsWait))
	}
	return h
}

// trim cuts lines beyond those that are needed, in the order in which they are shown: which files a search
// in parallel had come to by then is chance. Paths alone are shown newest first.
func (s *search) trim(h *hits) {
	if s.mode == modeFiles {
		slices.SortFunc(h.files, func(a, b fileHits) int {
			return cmp.Or(b.mtime.Compare(a.mtime), walkOrder(a.rel, b.rel))
		})
	}
	if s.mode != modeContent {
		return
	}
	left := s.need()
	for i := range h.files {
		f := &h.files[i]
		if left -= len(f.lines); left <= 0 {
			f.lines = f.lines[:len(f.lines)+left]
			h.files, h.more = h.files[:i+1], true
			return
		}
	}
}

// errBinary says that a file is not text.
var errBinary = errors.New("binary file")

// scanner searches one file after the other with the same buffers.
type scanner struct {
	s       *search
	m       *matcher
	ctx     context.Context
	buf     []byte
	choices choice
	dfa     *lineDFA
	stopped bool // the last file has more than is needed

	longLines int // that were searched in pieces, of all files
}

// file searches one file.
func (sc *scanner) file(f io.Reader) (fileHits, error) {
	sc.stopped = false
	if sc.buf == nil {
		sc.buf = make([]byte, chunkSize)
		if sc.m.tree != nil {
			sc.dfa = newLineDFA(sc.m.tree, sc.m.multiline)
		}
	}
	n, err := io.ReadFull(f, sc.buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fileHits{}, err
	}
	head, end := sc.buf[:n], err != nil
	utf16 := bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF})
	if !utf16 && bytes.IndexByte(head, 0) >= 0 {
		return fileHits{}, errBinary
	}
	if sc.m.multiline || utf16 {
		return sc.wholeFile(f, head, utf16)
	}
	l := &lineSearch{scanner: sc}
	return l.run(f, bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), end)
}

// wholeFile searches a file that must be in memory at once.
func (sc *scanner) wholeFile(f io.Reader, head []byte, utf16 bool) (fileHits, error) {
	rest, err := io.ReadAll(io.LimitReader(f, multilineMax))
	if err != nil {
		return fileHits{}, err
	}
	if len(rest) >= multilineMax {
		return fileHits{}, fmt.Errorf("it has more than %s, which is too much to search across lines; leave multiline out", size(multilineMax))
	}
	data := append(bytes.Clone(head), rest...)
	if utf16 {
		data = []byte(files.Decode(data).View)
	} else if bytes.IndexByte(rest, 0) >= 0 {
		return fileHits{}, errBinary
	}
	if sc.m.multiline {
		if !strings.Contains(sc.s.in.Pattern, `\r`) {
			data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // so that $ and \n match these line ends too
		}
		return sc.across(data), nil
	}
	l := &lineSearch{scanner: sc}
	return l.run(bytes.NewReader(nil), data, true)
}
