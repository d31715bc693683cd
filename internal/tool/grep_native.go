package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// The engine in this process: one goroutine walks and opens files, a few search them.

const (
	smallTree  = 300     // files of a tree that is searched here although ripgrep is there
	smallBytes = 8 << 20 // and their bytes
	slowBytes  = 1 << 20 // where every line is a matter of the regexp
	worthwhile = 5       // goes on with the tree here when enough lines will be found in as many times as much
)

// errLargeTree says that a tree is to be searched by ripgrep.
var errLargeTree = errors.New("the tree is large")

// job is one open file.
type job struct {
	f         *os.File
	path, rel string
}

// pool shares the files of a walk among workers.
type pool struct {
	s     *search
	m     *matcher
	ctx   context.Context
	small bool  // only a small tree is searched here
	files int   // of the walk, until the tree is large
	bytes int64 // of these files
	jobs  chan job
	open  sync.WaitGroup // jobs handed out and not done
	wait  sync.WaitGroup
	lines atomic.Int64 // found so far

	skipped    atomic.Int64 // files that are unreadable or too large
	unreadable int          // folders
	mu         sync.Mutex
	found      []fileHits
	endless    int // searched as far as they could be read without waiting
}

// native searches in this process, but only a small tree if that is asked for.
func (s *search) native(ctx context.Context, m *matcher, small bool) (*hits, error) {
	p := &pool{s: s, m: m, ctx: ctx, small: small, jobs: make(chan job, 64)}
	find := p.tree
	if s.oneFile() {
		find = p.file
	}
	err := find()
	h := p.collect()
	switch {
	case errors.Is(err, errBinary):
		return &hits{note: "It is a binary file, which is not searched."}, nil
	case errors.Is(err, errLargeTree), errors.Is(err, context.DeadlineExceeded): // then there are the matches so far
		return h, err
	case err != nil:
		return nil, pathError("search", s.start, err)
	}
	return h, nil
}

// tree searches the files below a folder.
func (p *pool) tree() error {
	for range min(4, max(2, runtime.GOMAXPROCS(0))) {
		p.wait.Go(p.work)
	}
	walked, err := p.s.env.Roots.Walk(p.ctx, p.s.start, p.s.walkOptions(), p.feed)
	close(p.jobs)
	p.wait.Wait()
	p.unreadable = walked.Unreadable
	if err == nil {
		err = p.ctx.Err()
	}
	return err
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

// file searches the file that was named, whatever globs and ignore files say.
func (p *pool) file() error {
	start := p.s.start
	target, err := p.s.env.Roots.Hold(start)
	if err != nil {
		return err
	}
	defer target.Close()
	if err := bounded(start.Real); err != nil {
		return err
	}
	f, _, err := target.Open()
	if err != nil {
		return err
	}
	return p.one(&scanner{s: p.s, m: p.m}, job{f, start.Lexical, path.Base(start.Real)})
}

// feed opens a file of the walk and hands it out. Once enough lines were found it ends the walk: the files handed out
// so far come first in the order in which results are shown.
func (p *pool) feed(e files.Entry) error {
	if e.Type != 0 || !p.s.filter.match(e.Rel, e.Ignored) || p.s.hidden(e.Path) {
		return nil
	}
	if p.s.mode == modeContent && p.lines.Load() >= int64(p.s.need()) {
		return files.SkipAll
	}
	f, err := e.Open()
	if err != nil {
		p.skipped.Add(1)
		return nil
	}
	if !p.within(f) {
		return errors.Join(errLargeTree, f.Close())
	}
	p.open.Add(1)
	p.jobs <- job{f, e.Path, e.Rel}
	return nil
}

// within reports whether one more file is searched here. Of a large tree it is when the lines found so far promise that
// enough are near: ripgrep cannot stop early, since it finds files in no order.
func (p *pool) within(f *os.File) bool {
	if !p.small {
		return true
	}
	if info, err := f.Stat(); err == nil {
		p.bytes += info.Size()
	}
	most := int64(smallBytes)
	if len(p.m.literals) == 0 {
		most = slowBytes
	}
	if p.files++; p.files <= smallTree && p.bytes <= most {
		return true
	}
	p.open.Wait() // so that the engine depends on the files alone
	p.small = p.s.mode != modeContent || p.lines.Load()*worthwhile < int64(p.s.need())
	return !p.small
}

func (p *pool) work() {
	sc := &scanner{s: p.s, m: p.m}
	for j := range p.jobs {
		err := p.one(sc, j)
		if err != nil && !errors.Is(err, errBinary) && !errors.Is(err, context.DeadlineExceeded) {
			p.skipped.Add(1)
		}
		p.open.Done()
	}
}

// one searches one file.
func (p *pool) one(sc *scanner, j job) error {
	defer j.f.Close()
	in, release := newPatient(p.ctx, j.f)
	defer release()
	fh, err := sc.file(in)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.waited {
		p.endless++
	}
	if p.s.empty(fh) {
		return err
	}
	fh.path, fh.rel = j.path, j.rel
	if info, err := j.f.Stat(); err == nil {
		fh.mtime = info.ModTime()
	}
	p.lines.Add(int64(max(1, len(fh.lines))))
	p.found = append(p.found, fh)
	return err
}

// collect puts the matches in order.
func (p *pool) collect() *hits {
	h := &hits{files: p.found}
	p.s.order(h)
	if n := p.skipped.Load(); n > 0 {
		h.remark("%d files could not be searched.", n)
	}
	if p.unreadable > 0 {
		h.remark("%d folders could not be read.", p.unreadable)
	}
	if p.endless > 0 {
		h.remark("%s no end and was searched as far as it could be read before nothing came for %s.",
			count(p.endless, "file has", "files have"), newsWait)
	}
	return h
}

// remark adds to the note.
func (h *hits) remark(format string, args ...any) {
	h.note = strings.TrimSpace(h.note + " " + fmt.Sprintf(format, args...))
}
