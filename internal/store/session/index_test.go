package session

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// randomIDs makes n ids, some of which occur before: as lathe writes them, with a few from elsewhere.
func randomIDs(r *rand.Rand, n int, rising bool, strange float64) []string {
	var out []string
	next := uint64(r.IntN(3))
	for range n {
		switch {
		case r.Float64() < strange:
			out = append(out, []string{"A", "0a", "x-y", "ö", "01", "zzzzzzzzzzzzzzzzzz", "Z9"}[r.IntN(7)])
		case rising:
			next += uint64(1 + r.IntN(3))
			out = append(out, strconv.FormatUint(next, 36))
		default:
			out = append(out, strconv.FormatUint(uint64(r.IntN(2*n)), 36))
		}
	}
	return out
}

func TestAnEntryIsFoundByItsIDInLogsOfAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		x, want := &index{size: 1 << 20}, map[string]int32{}
		ids := randomIDs(r, 1+r.IntN(300), round%2 == 0, float64(round%4/2)*0.05)
		for i, id := range ids {
			_, known := want[id]
			if at, ok := find(x, id); ok != known || ok && at != want[id] {
				t.Fatalf("round %d: before it was added, %q is at %d (%v), want %d (%v)", round, id, at, ok, want[id], known)
			}
			if known {
				continue
			}
			want[id] = int32(len(x.refs))
			x.append(ref{id: x.number([]byte(id)), off: int64(i * 100)})
		}
		for id, at := range want {
			got, ok := find(x, []byte(id))
			if !ok || got != at || x.id(x.refs[at]) != id {
				t.Fatalf("round %d: %q is at %d (%v) with the id %q, want %d", round, id, got, ok, x.id(x.refs[at]), at)
			}
		}
	}
}

func TestAPickStaysWhileTheLogGrows(t *testing.T) {
	x := &index{}
	add := func(id, kind string, parent int32) {
		x.append(ref{id: x.number([]byte(id)), kind: x.kindNumber([]byte(kind)), parent: parent})
	}
	add("0", "user", -1)
	add("strange id", "note", 0)
	p := x.branch(1)
	for i := range 1000 {
		add("other "+strconv.Itoa(i), "kind "+strconv.Itoa(i), int32(i+1))
	}
	if got := p.id(p.ref(0)) + ", " + p.id(p.ref(1)) + ", " + p.kind(p.ref(1)); len(p.at) != 2 ||
		got != "0, strange id, note" {
		t.Errorf("the pick of two entries has %d: %s", len(p.at), got)
	}
	if last := x.branch(1001); len(last.at) != 1002 || last.kind(last.ref(1001)) != "kind 999" {
		t.Errorf("the branch has %d entries, the last a %s", len(last.at), last.kind(last.ref(len(last.at)-1)))
	}
	if notes := x.all().only(func(k string) bool { return k == "note" }); len(notes.at) != 1 || notes.at[0] != 1 {
		t.Errorf("notes are at %v, want [1]", notes.at)
	}
}
