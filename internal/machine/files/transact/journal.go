package transact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// entry is one file in a journal.
type entry struct {
	Path   string      `json:"path"` // real
	There  bool        `json:"there,omitempty"`
	Before []byte      `json:"before,omitempty"`
	After  []byte      `json:"after,omitempty"`
	Remove bool        `json:"remove,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"` // of the new content; 0: not changed
	Old    fs.FileMode `json:"old,omitempty"`  // permission bits before
	Temp   string      `json:"temp,omitempty"` // the temporary name beside it, which a kill may leave
	Step   *Step       `json:"step,omitempty"` // instead of all but Path
}

// begin writes the journal. It is there from the rename on, and so it has the temporary names before a file gets one.
func begin(dir string, list []Change, steps []Step) error {
	entries := make([]entry, len(list), len(list)+len(steps))
	for i, c := range list {
		if c.Target.Temp == "" {
			c.Target.Temp = files.TempName()
		}
		entries[i] = entry{
			Path: c.Target.Path.Real, There: c.Info != nil, Before: c.Before, After: c.After,
			Remove: c.Remove, Mode: c.Mode, Temp: c.Target.Temp,
		}
		if c.Info != nil {
			entries[i].Old = c.Info.Mode().Perm()
		}
	}
	for _, s := range steps {
		entries = append(entries, entry{Path: filepath.Join(s.Root, s.Rel), Step: &s})
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, journalName+".new")
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%08x\n%s", crc32.ChecksumIEEE(data), data)
	phase("written")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, filepath.Join(dir, journalName))
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	return syncFolder(dir)
}

// Recover finishes a transaction that was cut off, removes the temporary files that it left, and returns a note for the
// user; empty when there was none. It costs one look at a file name then. A transaction that another process is at is
// left alone.
func Recover(dir string) (note string, err error) {
	if _, err := os.Lstat(filepath.Join(dir, journalName)); err != nil {
		return "", nil
	}
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); !ok || err != nil {
		return "", err
	}
	defer func() { _ = lock.Unlock() }()
	return recoverLocked(dir)
}

func recoverLocked(dir string) (note string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	sum, body, _ := bytes.Cut(data, []byte("\n"))
	var list []entry
	if fmt.Sprintf("%08x", crc32.ChecksumIEEE(body)) != string(sum) || json.Unmarshal(body, &list) != nil {
		kept := filepath.Join(dir, "damaged.journal")
		return "A change of several files was cut off, and its journal is damaged; it is kept as " + kept + ".",
			errors.Join(os.Rename(filepath.Join(dir, journalName), kept), end(dir))
	}
	_, marked := os.Lstat(filepath.Join(dir, backName))
	back := marked == nil
	if back {
		slices.Reverse(list)
	}
	finished, left := finish(dir, list, back)
	return report(finished, left, back), end(dir)
}

func report(finished, left []string, back bool) string {
	if len(finished) == 0 {
		return "" // it was as good as done
	}
	how := "finished"
	if back {
		how = "taken back"
	}
	note := fmt.Sprintf("A patch of several files that was cut off was %s: %s", how, strings.Join(finished, ", "))
	if len(left) > 0 {
		note += "; left as they are: " + strings.Join(left, "; ")
	}
	return note + "."
}

// finish brings the files to their new state, or back to the old one.
func finish(dir string, list []entry, back bool) (finished, left []string) {
	roots, err := files.NewRoots(dir) // the paths are absolute; which roots there are does not matter
	if err != nil {
		return nil, []string{err.Error()}
	}
	defer roots.Close()
	for _, e := range list {
		var done bool
		var err error
		switch from, to := e.states(back); {
		case e.Step == nil:
			done, err = bring(roots, e, from, to)
		case !back:
			err = e.Step.do()
		}
		switch {
		case err != nil:
			left = append(left, e.Path+": "+err.Error())
		case done:
			finished = append(finished, e.Path)
		}
		phase("recovered")
	}
	return finished, left
}

// state is a file as it is or should be.
type state struct {
	there bool
	data  []byte
	mode  fs.FileMode // to set; 0: keep
}

func (e *entry) states(back bool) (from, to state) {
	old := state{there: e.There, data: e.Before, mode: e.Old}
	fresh := state{there: !e.Remove, data: e.After, mode: e.Mode}
	if back {
		return fresh, old
	}
	return old, fresh
}

// bring changes a file from one state to another; done is false when it was there already.
func bring(roots *files.Roots, e entry, from, to state) (done bool, err error) {
	p, err := roots.Resolve(e.Path, filepath.Dir(e.Path))
	if err != nil {
		return false, err
	}
	if p.Real != e.Path || p.Err != nil {
		return false, errors.New("a link or a folder on its path changed")
	}
	t, err := roots.Hold(p)
	if err != nil {
		return false, err
	}
	defer t.Close()
	t.Temp = e.Temp
	if err := t.RemoveTemp(); err != nil {
		return false, err
	}
	var now []byte
	info := p.Info
	if info != nil {
		if now, info, err = t.Read(1 << 30); err != nil {
			return false, err
		}
	}
	is := func(s state) bool { return s.there == (info != nil) && (!s.there || bytes.Equal(s.data, now)) }
	switch {
	case is(to) && (to.mode == 0 || info == nil || info.Mode().Perm() == to.mode):
		return false, nil
	case !is(from) && !is(to) && !torn(now, from.data, to.data):
		return false, errors.New("it was changed since")
	case !to.there:
		return true, t.Remove(info)
	}
	t.Mode = to.mode
	_, err = t.Replace(to.data, info)
	return true, err
}

// torn reports whether a content is the new one up to some byte and the old one from there on, as a write in place
// leaves it.
func torn(now, from, to []byte) bool {
	n := 0
	for n < len(now) && n < len(to) && now[n] == to[n] {
		n++
	}
	return n > 0 && len(now) <= max(len(from), len(to)) && len(from) >= len(now) && bytes.Equal(now[n:],
		from[n:len(now)]) && (len(now) == len(from) || n == len(to))
}
