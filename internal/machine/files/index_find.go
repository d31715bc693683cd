package files

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// place is a file in the index: its folder in a tree, and its number there; itself is the folder.
type place struct {
	tree, folder, file int32
}

const itself = -1

// narrowed are the matches of the last search, for the next one that has a few letters more.
type narrowed struct {
	text    string
	version int
	places  []place
}

// maxNarrowed is how many places are kept for the next search. A search with more is soon done anyway, for its
// text is short.
const maxNarrowed = 16_000

// hit is a place with its worth.
type hit struct {
	score    int
	dir, nam string // the path is both
}

func better(a, b hit) int {
	return cmp.Or(
		cmp.Compare(b.score, a.score),
		cmp.Compare(len(a.dir)+len(a.nam), len(b.dir)+len(b.nam)),
		strings.Compare(a.dir, b.dir),
		strings.Compare(a.nam, b.nam),
	)
}

// best keeps the best hits.
type best struct {
	hits  []hit
	limit int
}

func (b *best) add(h hit) {
	if len(b.hits) == b.limit && better(h, b.hits[b.limit-1]) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(b.hits, h, better)
	b.hits = slices.Insert(b.hits, at, h)
	b.hits = b.hits[:min(len(b.hits), b.limit)]
}

// last is the worst of the best, nil while there is room.
func (b *best) last() *hit {
	if len(b.hits) < b.limit {
		return nil
	}
	return &b.hits[b.limit-1]
}

// finder is one search.
type finder struct {
	x      *Index
	m      *fuzzy.Matcher
	best   best
	places []place
	full   bool // there are too many places to keep
}

// find searches the index, whose token the caller holds.
func (x *Index) find(ctx context.Context, text string, limit int) []Match {
	text = strings.TrimPrefix(text, "./")
	m := fuzzy.New(text)
	if m.Any() {
		return x.first(limit)
	}
	f := &finder{x: x, m: m, best: best{limit: limit}}
	last := &x.state.last
	if last.version == x.state.version && last.text != "" && strings.HasPrefix(text, last.text) {
		f.narrow(ctx, last.places)
	} else {
		f.everything(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	x.state.last = narrowed{}
	if !f.full {
		x.state.last = narrowed{text, x.state.version, f.places}
	}
	f.boost()
	return f.matches()
}

func (f *finder) narrow(ctx context.Context, places []place) {
	for i, p := range places {
		if i%4096 == 0 && ctx.Err() != nil {
			return
		}
		f.try(p)
	}
}

func (f *finder) everything(ctx context.Context) {
	for ti, t := range f.x.state.trees {
		for fi, d := range t.all {
			if fi%64 == 0 && ctx.Err() != nil {
				return
			}
			p := place{int32(ti), int32(fi), itself}
			f.try(p)
			missing := f.m.Mask() &^ d.mask
			for i, mask := range d.masks {
				if missing&^mask == 0 {
					p.file = int32(i)
					f.try(p)
				}
			}
		}
	}
}

// try scores one place.
func (f *finder) try(p place) {
	d := f.x.state.trees[p.tree].all[p.folder]
	h := hit{dir: d.dir}
	switch {
	case p.file != itself:
		h.nam = d.name(int(p.file))
	case d.rel == "":
		return
	default:
		h.dir, h.nam = parent(d.dir)
	}
	cost := min(len(h.dir)/4, 20)
	if last := f.best.last(); last != nil && f.m.Limit(len(h.dir), len(h.nam))-cost < last.score {
		f.keep(p) // it may be among the best of a longer text
		return
	}
	score, ok := f.m.PathIn(h.dir, h.nam)
	if !ok {
		return
	}
	f.keep(p)
	h.score = score - cost
	f.best.add(h)
}

func (f *finder) keep(p place) {
	if len(f.places) < maxNarrowed {
		f.places = append(f.places, p)
	} else {
		f.full = true
	}
}

// parent parts the path of a folder before its name.
func parent(dir string) (above, name string) {
	i := strings.LastIndexByte(dir[:len(dir)-1], '/') + 1
	return dir[:i], dir[i:]
}

// boost raises recently used files.
func (f *finder) boost() {
	for i, path := range f.x.recent() {
		if !f.x.has(path) {
			continue
		}
		h := hit{nam: path}
		if at := strings.LastIndexByte(path, '/'); at >= 0 && at < len(path)-1 {
			h.dir, h.nam = path[:at+1], path[at+1:]
		}
		score, ok := f.m.PathIn(h.dir, h.nam)
		if !ok {
			continue
		}
		h.score = score - min(len(h.dir)/4, 20) + 60 - i
		f.best.hits = slices.DeleteFunc(f.best.hits, func(o hit) bool { return o.dir == h.dir && o.nam == h.nam })
		f.best.add(h)
	}
}

// has reports whether a file is in the index.
func (x *Index) has(path string) bool {
	for _, t := range x.state.trees {
		rel, ok := strings.CutPrefix(path, t.prefix)
		if !ok {
			continue
		}
		if dir, isDir := strings.CutSuffix(rel, "/"); isDir {
			return t.folders[dir] != nil
		}
		dir, name := "", rel
		if at := strings.LastIndexByte(rel, '/'); at >= 0 {
			dir, name = rel[:at], rel[at+1:]
		}
		if d := t.folders[dir]; d != nil {
			for i := range d.ends {
				if d.name(i) == name {
					return true
				}
			}
		}
	}
	return false
}

func (f *finder) matches() []Match {
	out := make([]Match, 0, len(f.best.hits))
	for _, h := range f.best.hits {
		path := h.dir + h.nam
		out = append(out, Match{Path: path, Marks: f.m.PathMarks(path), Dir: strings.HasSuffix(path, "/")})
	}
	return out
}

// first lists recently used files, and then those of the first root.
func (x *Index) first(limit int) []Match {
	var out []Match
	for _, path := range x.recent() {
		if len(out) < min(limit, 10) && x.has(path) {
			out = append(out, Match{Path: path, Dir: strings.HasSuffix(path, "/")})
		}
	}
	if len(x.state.trees) == 0 || x.state.trees[0].folders[""] == nil {
		return out
	}
	d := x.state.trees[0].folders[""]
	var names []string
	for _, s := range d.subs {
		names = append(names, s+"/")
	}
	for i := range d.ends {
		names = append(names, d.name(i))
	}
	for _, n := range names {
		if len(out) < limit && !slices.ContainsFunc(out, func(m Match) bool { return m.Path == d.dir+n }) {
			out = append(out, Match{Path: d.dir + n, Dir: strings.HasSuffix(n, "/")})
		}
	}
	return out
}
