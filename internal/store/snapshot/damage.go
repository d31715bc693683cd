package snapshot

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// damage is a part of a segment where records may be lost.
type damage struct {
	path     string
	from, to int64
	until    string // no lost record has a later id
}

// fileClock is more than the time by which that of a file may be behind.
const fileClock = time.Second

// newDamage is damage of which only is known that it was written before the segment was last changed.
func newDamage(path string, from, to int64) damage {
	last := time.Now()
	if info, err := os.Stat(path); err == nil {
		last = info.ModTime().Add(fileClock)
	}
	return damage{path, from, to, idAt(last.UnixMicro()) + "~"}
}

// before tells that a record follows the damage of a segment.
func (s *Store) before(path, id string) {
	for i := range s.damaged {
		if d := &s.damaged[i]; d.path == path {
			d.until = min(d.until, id)
		}
	}
}

func (d damage) String() string {
	return fmt.Sprintf("%s is damaged from byte %d to %d: steps before %s may be missing, so nothing before then can be "+
		"taken back; take files from git or a backup, and have lathe snapshot prune let the steps before then go",
		d.path, d.from, d.to, TimeOf(d.until).Local().Format("2006-01-02 15:04:05"))
}

// lostSince is an error if a record that is lost may be as new as one with this id.
func (s *Store) lostSince(id string) error {
	for _, d := range s.damaged {
		if d.until >= id {
			return fmt.Errorf("the snapshots cannot be trusted: %s", d)
		}
	}
	return nil
}

// lostBeside is an error if a record that belongs to some may be lost: one that is as new as the oldest of them, or any
// when none is known.
func (s *Store) lostBeside(belongs func(Record) bool) error {
	if len(s.damaged) == 0 {
		return nil
	}
	if i := slices.IndexFunc(s.records, belongs); i >= 0 {
		return s.lostSince(s.records[i].ID)
	}
	return s.lostSince("")
}

// Damage is an error if records may be lost: the lists of steps may lack some.
func (s *Store) Damage() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lostSince("")
}

// nothing is the answer where no step is known.
func (s *Store) nothing() error { return cmp.Or(s.Damage(), ErrNothing) }

// dropDamage has a prune let all records go that may be older than a lost one. While other processes hold steps as old,
// the damaged segments stay, as if they were held too.
func (s *Store) dropDamage(held map[string]bool) {
	until, busy := "", slices.Contains(slices.Collect(maps.Values(held)), true)
	for _, d := range s.damaged {
		if until = max(until, d.until); busy {
			held[d.path] = true
		}
	}
	if busy {
		return
	}
	part := map[[2]string]bool{} // replies of the model of which a step goes
	s.records = slices.DeleteFunc(s.records, func(r Record) bool {
		reply := [2]string{r.Session, r.Group}
		if cmp.Or(r.Begin, r.ID) <= until && r.Group != "" {
			part[reply] = true
		}
		return cmp.Or(r.Begin, r.ID) <= until || part[reply]
	})
}
