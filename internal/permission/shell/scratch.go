package shell

import (
	"sync"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// scratch is the memory of one analysis, which a later one uses again. Nothing in a Result may lie there.
type scratch struct {
	analysis analysis
	calls    slab[call]
	words    slab[word]
	args     slab[program.Word] // of calls, for the program table
	scopes   slab[scope]
	trees    trees

	noted     []*call // the buffers of the analysis' own lists
	active    []*call
	assigning []*call
	checked   []*call
	accesses  []permission.Access
	levels    []int
	touches   []touch
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// release gives the memory of an analysis back, which must not be used any more.
func (a *analysis) release() {
	m := a.mem
	m.noted, m.accesses, m.levels, m.touches = reuse(a.calls), reuse(a.accesses), a.levels[:0], reuse(a.touches)
	m.active, m.assigning, m.checked = reuse(a.active), reuse(a.assigning), reuse(a.checked)
	m.calls.empty()
	m.words.empty()
	m.args.empty()
	m.scopes.empty()
	m.trees.empty()
	m.analysis = analysis{}
	scratches.Put(m)
}

// reuse returns the list without members, with the room that it had.
func reuse[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// slab hands out zero values that are all given back at once.
type slab[T any] struct {
	block []T
	used  int
}

// slabBlock is how many values the first block has; a slice of more than slabSlice values gets memory of its own.
const (
	slabBlock = 8
	slabSlice = 64
)

// take returns a slice of n zero values, which does not grow in place.
func (s *slab[T]) take(n int) []T {
	if n > slabSlice {
		return make([]T, n)
	}
	if len(s.block)-s.used < n {
		s.reserve(max(n, 2*len(s.block), slabBlock))
	}
	out := s.block[s.used : s.used+n : s.used+n]
	s.used += n
	return out
}

// one returns a zero value.
func (s *slab[T]) one() *T { return &s.take(1)[0] }

// reserve makes room for n values. Those of the block before it stay where they are.
func (s *slab[T]) reserve(n int) {
	if len(s.block)-s.used < n {
		s.block, s.used = make([]T, n), 0
	}
}

func (s *slab[T]) empty() {
	clear(s.block[:s.used])
	s.used = 0
}
