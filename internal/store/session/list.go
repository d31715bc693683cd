package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Info describes a session in a list.
type Info struct {
	ID          string
	Dir         string // the working folder
	Path        string // the log file
	Title       string // as set, or empty
	FirstPrompt string // one line, at most 200 characters
	Created     time.Time
	Modified    time.Time
	Model       string
	Turns       int       // as of the last turn that ended; 0 when that is not near the end of the log
	CostUSD     float64   // likewise; a fork includes its origin's
	Usage       llm.Usage // likewise
	Size        int64     // of the log, bytes
	Parent      string    // the session it was forked from, or its subagent's parent
	Forked      bool
	Agent       string // of a child, the session of a subagent: the kind of agent
	Call        string // of a child: the call of the parent that runs it
	Damaged     bool   // a line that was looked at is damaged; Verify looks at all
}

func infoOf(h header, sum summary) Info {
	return Info{
		ID: h.Session, Dir: h.Dir, Created: h.Created, Parent: h.Parent, Agent: h.Agent, Call: h.Call,
		Forked: len(h.Lineage) > 0,
		Title:  sum.Title, FirstPrompt: sum.firstPrompt, Model: cmp.Or(sum.Model, sum.replyModel, h.Model), Turns: sum.Turns,
		CostUSD: sum.CostUSD, Usage: sum.Usage,
	}
}

// How much of a log a list reads: its head, its tail, and a longer tail when no turn ends in the first.
const (
	headLen     = 8 << 10
	tailChunk   = 16 << 10
	longestTail = 128 << 10
)

// List yields the sessions of a working folder, or with "" all sessions, newest first, without those of
// subagents (see Children). It reads only the head and the tail of each log, while the loop asks for it. An
// error concerns one session, or with a zero Info the whole store.
func (s *Store) List(dir string) iter.Seq2[Info, error] {
	return filtered(s.list(dir, every), func(i Info) bool { return i.Agent == "" })
}

// Children yields the sessions of the subagents that a session started, newest first; with "" those of all.
func (s *Store) Children(parent string) iter.Seq2[Info, error] {
	return filtered(s.list("", every), func(i Info) bool { return i.Agent != "" && (parent == "" || i.Parent == parent) })
}

// CostOfChildren is the cost in US dollars of the subagents that a session started, and of those that they started.
// Sessions that cannot be read are left out and named in the error.
func (s *Store) CostOfChildren(parent string) (usd float64, err error) {
	below, err := s.CostsBelow()
	return below(parent), err
}

// CostsBelow reads the sessions of all subagents once, and returns what CostOfChildren is of each session.
func (s *Store) CostsBelow() (of func(parent string) float64, err error) {
	below := map[string][]Info{} // by parent
	for info, e := range s.Children("") {
		if err = errors.Join(err, e); e == nil {
			below[info.Parent] = append(below[info.Parent], info)
		}
	}
	return func(parent string) (usd float64) {
		for todo := []string{parent}; len(todo) > 0; todo = todo[1:] {
			for _, info := range below[todo[0]] {
				usd += info.CostUSD
				todo = append(todo, info.ID)
			}
		}
		return usd
	}, err
}

func every(candidate) bool { return true }

// filtered passes errors on.
func filtered(seq iter.Seq2[Info, error], keep func(Info) bool) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for info, err := range seq {
			if (err != nil || keep(info)) && !yield(info, err) {
				return
			}
		}
	}
}

func (s *Store) list(dir string, keep func(candidate) bool) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if dir != "" {
			dir = realDir(dir)
		}
		found, err := s.candidates(dir)
		if err != nil && !yield(Info{}, err) {
			return
		}
		found = slices.DeleteFunc(found, func(c candidate) bool { return !keep(c) })
		slices.SortFunc(found, newestFirst)
		var p endsReader
		for _, c := range found {
			info, err := p.peek(c)
			if errors.Is(err, fs.ErrNotExist) || err == nil && !info.in(dir) {
				continue // removed meanwhile, or of another folder whose name is written alike
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// in reports whether a session belongs to dir, which is empty for any. One without a header belongs to
// the project that it is stored in. JSON keeps each byte that is not UTF-8 as a replacement character.
func (i Info) in(dir string) bool {
	return dir == "" || i.Dir == "" || i.Dir == dir || i.Dir == string([]rune(dir))
}

// candidate is a session that was found and not looked into.
type candidate struct {
	id, path string
	modified time.Time
	size     int64
}

func newestFirst(a, b candidate) int {
	return cmp.Or(b.modified.Compare(a.modified), strings.Compare(b.id, a.id))
}

// candidates finds the sessions in the project of dir, or with "" in all projects.
func (s *Store) candidates(dir string) ([]candidate, error) {
	projects := []string{slug(dir)}
	if dir == "" {
		var err error
		if projects, err = s.projectNames(); err != nil {
			return nil, err
		}
	}
	var out []candidate
	var failed error
	for _, p := range projects {
		found, err := s.inProject(p)
		out, failed = append(out, found...), errors.Join(failed, err)
	}
	return out, failed
}

func (s *Store) projectNames() ([]string, error) {
	entries, err := os.ReadDir(s.projects)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session: read the folder of sessions: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

func (s *Store) inProject(project string) ([]candidate, error) {
	entries, err := os.ReadDir(filepath.Join(s.projects, project))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session: read the sessions of a project: %w", err)
	}
	var out []candidate
	for _, e := range entries {
		if !validID(e.Name()) {
			continue
		}
		path := filepath.Join(s.projects, project, e.Name(), logName)
		if st, err := os.Stat(path); err == nil {
			out = append(out, candidate{e.Name(), path, st.ModTime(), st.Size()})
		}
	}
	return out, nil
}

// endsReader looks into the ends of logs, one after the other.
type endsReader struct {
	buf []byte
	dec decoder
}

// logEnds is the information in the two ends of one log.
type logEnds struct {
	header header
	sum    summary
	turns  bool // a turn's end was seen, so the sums are right
	bad    bool
}

func (p *endsReader) peek(c candidate) (Info, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return Info{ID: c.id, Path: c.path}, fmt.Errorf("session: open the log: %w", err)
	}
	defer f.Close()
	var g logEnds
	err = p.look(f, c.size, &g)
	info := infoOf(g.header, g.sum)
	info.ID, info.Path, info.Modified, info.Size, info.Damaged = c.id, c.path, c.modified, c.size, g.bad
	if err != nil {
		return info, fmt.Errorf("session: read %s: %w", c.path, err)
	}
	return info, nil
}

// look reads a small log whole, of a larger one the head and as much of the tail as shows the end of a turn.
func (p *endsReader) look(f *os.File, size int64, g *logEnds) error {
	if size <= headLen+tailChunk {
		chunk, err := p.chunk(f, 0, size)
		if err == nil {
			p.head(chunk, g)
		}
		return err
	}
	chunk, err := p.chunk(f, 0, headLen)
	if err != nil {
		return err
	}
	p.head(chunk, g)
	start := *g
	for n := int64(tailChunk); ; n *= 8 {
		chunk, err := p.chunk(f, max(size-n, headLen), size)
		if err != nil {
			return err
		}
		*g = start
		p.tail(chunk, g)
		if g.turns || n >= longestTail || n >= size-headLen {
			return nil
		}
	}
}

func (p *endsReader) chunk(f *os.File, from, to int64) ([]byte, error) {
	p.buf = slices.Grow(p.buf[:0], int(to-from))[:to-from]
	n, err := f.ReadAt(p.buf, from)
	if errors.Is(err, io.EOF) { // cut off meanwhile
		err = nil
	}
	return p.buf[:n], err
}

func (p *endsReader) head(chunk []byte, g *logEnds) {
	first, rest, whole := bytes.Cut(chunk, []byte("\n"))
	_, err := unseal(first)
	g.bad = err != nil && whole
	if json.Unmarshal(first, &g.header) != nil {
		g.bad = whole
	}
	p.lines(rest, g)
	if g.sum.firstPrompt == "" {
		g.sum.firstPrompt = promptOfCut(rest[bytes.LastIndexByte(rest, '\n')+1:])
	}
}

func (p *endsReader) tail(chunk []byte, g *logEnds) {
	_, rest, _ := bytes.Cut(chunk, []byte("\n"))
	p.lines(rest, g)
}

func (p *endsReader) lines(chunk []byte, g *logEnds) {
	for {
		line, rest, whole := bytes.Cut(chunk, []byte("\n"))
		if !whole {
			return
		}
		chunk = rest
		if _, err := unseal(line); err != nil {
			g.bad = true
			continue
		}
		p.line(line, g)
	}
}

func (p *endsReader) line(line []byte, g *logEnds) {
	env, err := openEnvelope(line)
	if err != nil {
		g.bad = true
		return
	}
	switch kind := string(env.kind); kind {
	case "user", "title", "model", "turn_end":
		if kind == "user" && g.sum.firstPrompt != "" {
			return
		}
		b, err := p.dec.body(kind, line)
		if err != nil {
			g.bad = true
			return
		}
		g.apply(b)
	}
}

// apply takes the sums from where they are kept, since not all turns are seen.
func (g *logEnds) apply(b Body) {
	end, ok := b.(TurnEnd)
	if !ok {
		g.sum.apply(b)
		return
	}
	g.turns = true
	g.sum.Total = end.Total
}

// promptOfCut finds the first prompt in the beginning of a user entry that is longer than the bytes read.
func promptOfCut(line []byte) string {
	env, err := openEnvelope(line)
	if err != nil || string(env.kind) != "user" || bytes.Contains(line, []byte(`,"synthetic":true`)) {
		return ""
	}
	lead := []byte(`{"type":"text","text":"`) // a text with an origin begins otherwise
	i := bytes.Index(line, lead)
	if i < 0 {
		return ""
	}
	line = line[i+len(lead)-1:]
	str := scanner{b: line}
	if text := str.str(); !str.bad {
		return oneLine(text)
	}
	return oneLine(cutText(line[1:]))
}

// cutText reads the inside of a JSON string that may end within a character or an escape.
func cutText(raw []byte) string {
	raw = raw[:min(len(raw), 4*maxPrompt)]
	for range 12 {
		if text, ok := unescape(nil, raw); ok {
			return string(text)
		}
		raw = raw[:max(len(raw)-1, 0)]
	}
	return ""
}
