package session

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
)

// ref is where an entry is. It has no pointers: a log of small entries has hundreds of thousands of them.
type ref struct {
	id     uint64 // see labels
	off    int64
	size   int32 // without the newline
	parent int32 // its place among the refs, or -1
	kind   int32 // see labels
	relink bool  // the parent that the line names does not exist
}

// labels are the texts that refs represent. They only grow, so a copy stays right for the refs of its time.
type labels struct {
	kinds   []string
	strange []string // ids that are not numbers as lathe writes them
}

// strangeID and what is above it are places in labels.strange; below it an id is the number itself, in base 36.
const strangeID = 1 << 63

// maxID is above all numbers that are taken from a log.
const maxID = 1 << 62

func (l labels) id(r ref) string {
	if r.id >= strangeID {
		return l.strange[r.id-strangeID]
	}
	return strconv.FormatUint(r.id, 36)
}

func (l labels) kind(r ref) string { return l.kinds[r.kind] }

// idNumber reads an id as lathe writes it; any other spelling of a number is not one.
func idNumber[T string | []byte](id T) (n uint64, ok bool) {
	if len(id) == 0 || id[0] == '0' && len(id) > 1 {
		return 0, false
	}
	for i := range len(id) {
		c := id[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'z':
			c -= 'a' - 10
		default:
			return 0, false
		}
		if n = n*36 + uint64(c); n >= maxID {
			return 0, false
		}
	}
	return n, true
}

// index finds entries by their ids. Those of a log of lathe's rise, so the refs themselves are searched; a map takes
// over where they do not.
type index struct {
	labels
	refs      []ref // in file order
	size      int64 // of the log when the scan began, or 0
	scrambled map[uint64]int32
	byStrange map[string]uint64
}

// find returns the place of an entry.
func find[T string | []byte](x *index, id T) (int32, bool) {
	n, ok := idNumber(id)
	if !ok {
		if n, ok = x.byStrange[string(id)]; !ok {
			return 0, false
		}
	}
	if x.scrambled != nil {
		at, ok := x.scrambled[n]
		return at, ok
	}
	if last := len(x.refs) - 1; last >= 0 && x.refs[last].id == n {
		return int32(last), true
	}
	at := sort.Search(len(x.refs), func(i int) bool { return x.refs[i].id >= n })
	return int32(at), at < len(x.refs) && x.refs[at].id == n
}

// number is the id of a new ref.
func (x *index) number(id []byte) uint64 {
	if n, ok := idNumber(id); ok {
		return n
	}
	n := strangeID + uint64(len(x.strange))
	x.strange = append(x.strange, string(id))
	if x.byStrange == nil {
		x.byStrange = map[string]uint64{}
	}
	x.byStrange[string(id)] = n
	return n
}

// kindNumber is the place of a kind among the labels.
func (x *index) kindNumber(kind []byte) int32 {
	for i, k := range x.kinds[:min(len(x.kinds), 64)] {
		if k == string(kind) {
			return int32(i)
		}
	}
	x.kinds = append(x.kinds, string(kind))
	return int32(len(x.kinds) - 1)
}

func (x *index) append(r ref) {
	at := int32(len(x.refs))
	if x.scrambled == nil && at > 0 && x.refs[at-1].id >= r.id {
		x.scramble()
	}
	if x.scrambled != nil {
		x.scrambled[r.id] = at
	}
	if len(x.refs) == cap(x.refs) {
		x.refs = slices.Grow(x.refs, x.room(r.off))
	}
	x.refs = append(x.refs, r)
}

// room is for how many more refs there is to be room: during the scan as many as the rest of the log has, if it is
// like the part before off.
func (x *index) room(off int64) int {
	n := int64(len(x.refs))
	if n < 64 || off >= x.size {
		return 64
	}
	return int(min(n*(x.size-off)/off*9/8+64, 16*n))
}

func (x *index) scramble() {
	x.scrambled = make(map[uint64]int32, len(x.refs))
	for at, r := range x.refs {
		x.scrambled[r.id] = int32(at)
	}
}

// pick is some of the entries of a log. It stays valid while the log grows.
type pick struct {
	labels
	refs []ref
	at   []int32 // places in refs
}

func (x *index) pick(at []int32) pick { return pick{x.labels, x.refs, at} }

// all picks every entry.
func (x *index) all() pick {
	at := make([]int32, len(x.refs))
	for i := range at {
		at[i] = int32(i)
	}
	return x.pick(at)
}

// branch picks the entries from the root to a place.
func (x *index) branch(at int32) pick {
	n := 0
	for p := at; p >= 0; p = x.refs[p].parent {
		n++
	}
	places := make([]int32, n)
	for ; at >= 0; at = x.refs[at].parent {
		n--
		places[n] = at
	}
	return x.pick(places)
}

// after picks the entries of a branch behind the place from; -1 is before the first. False when from is not on it.
func (x *index) after(from, at int32) (pick, bool) {
	var places []int32
	for ; at > from; at = x.refs[at].parent { // a parent is before its child
		places = append(places, at)
	}
	slices.Reverse(places)
	return x.pick(places), at == from
}

// only leaves out the entries whose kind is not wanted.
func (p pick) only(want func(kind string) bool) pick {
	wanted := make([]bool, len(p.kinds))
	for i, k := range p.kinds {
		wanted[i] = want(k)
	}
	n := 0
	for _, at := range p.at {
		if wanted[p.refs[at].kind] {
			n++
		}
	}
	places := make([]int32, 0, n)
	for _, at := range p.at {
		if wanted[p.refs[at].kind] {
			places = append(places, at)
		}
	}
	p.at = places
	return p
}

func (p pick) ref(i int) ref { return p.refs[p.at[i]] }

// eachBody decodes the entries, which are in file order, and yields each with its number in the pick. One that cannot
// be decoded is passed over and listed.
func (p pick) eachBody(f io.ReaderAt, dec *decoder, yield func(i int, env envelope, b Body) bool) (bad []error,
	err error,
) {
	err = p.eachLine(f, func(i int, line []byte) bool {
		if !bytes.Contains(line, dec.holds) {
			return true
		}
		env, err := openEnvelope(line)
		if err == nil {
			var b Body
			if b, err = dec.body(p.kind(p.ref(i)), line); err == nil {
				return yield(i, env, b)
			}
		}
		bad = append(bad, fmt.Errorf("entry %s: %w", p.id(p.ref(i)), err))
		return true
	})
	return bad, err
}

// eachLine reads the lines of the entries, which are in file order.
func (p pick) eachLine(f io.ReaderAt, yield func(i int, line []byte) bool) error {
	if len(p.at) == 0 {
		return nil
	}
	last := p.ref(len(p.at) - 1)
	src := &lineSource{r: f, size: last.off + int64(last.size)}
	for i := range p.at {
		line, err := src.read(p.ref(i))
		if err != nil {
			return fmt.Errorf("session: read entry %s: %w", p.id(p.ref(i)), err)
		}
		if !yield(i, line) {
			return nil
		}
	}
	return nil
}
