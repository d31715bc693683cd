package boundary

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// unswept keeps on disk which protected names are to be looked for when the running commands have ended. If lathe is
// killed before, or processes stay, the next session in the folder does it. The file's first byte is 'R' while commands
// run, else '-'; a session holds a lock on it for its life.
type unswept struct {
	mu      sync.Mutex
	file    *os.File // nil before the first command, and where it cannot be written
	tried   bool
	running int
	kept    record
	made    []string // folders that were made for the file, the deepest first
}

// record is the file's content after the first byte.
type record struct {
	Names, Above map[string]string // of watch
	Homes        homes
	Left         []int // processes that stay
	Session      int   // the process of lathe that holds the lock
}

// begin is called when a command starts.
func (u *unswept) begin(dir, prefix string, w watch) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.tried {
		u.tried = true
		u.open(dir, prefix)
	}
	u.running++
	if u.file == nil {
		return
	}
	known := len(w.names) > 0
	for name, target := range w.names {
		if was, ok := u.kept.Names[name]; !ok || was != target {
			known = false
			break
		}
	}
	switch {
	case !known && u.running > 1: // earlier commands look for theirs
		maps.Copy(u.kept.Names, w.names)
		maps.Copy(u.kept.Above, w.above)
		u.write()
	case !known:
		u.kept.Names, u.kept.Above, u.kept.Homes = maps.Clone(w.names), maps.Clone(w.above), w.homes
		u.write()
	case u.running == 1:
		_, _ = u.file.WriteAt([]byte("R"), 0)
	}
}

func (u *unswept) open(dir, prefix string) {
	for path := dir; ; path = filepath.Dir(path) {
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			break
		}
		u.made = append(u.made, path)
	}
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, prefix+"-*")
	if err != nil {
		return
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		os.Remove(f.Name())
		return
	}
	u.file = f
}

func (u *unswept) write() {
	state := "-"
	if u.running > 0 {
		state = "R"
	}
	u.kept.Session = os.Getpid()
	b, err := json.Marshal(u.kept)
	if err != nil {
		return
	}
	if _, err := u.file.WriteAt(append([]byte(state), b...), 0); err == nil {
		_ = u.file.Truncate(int64(len(b)) + 1)
	}
}

// end is called when a command has ended and its names were looked for; left are processes of it that stay.
func (u *unswept) end(left []int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running--
	if u.file == nil {
		return
	}
	if len(left) > 0 {
		u.kept.Left = append(u.kept.Left, left...)
		u.write()
	} else if u.running == 0 {
		_, _ = u.file.WriteAt([]byte("-"), 0)
	}
}

// close removes the file, unless processes stay.
func (u *unswept) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		return
	}
	if !alive(u.kept.Left) {
		os.Remove(u.file.Name())
		for _, dir := range u.made { // a run that keeps nothing leaves none; one with files stays
			os.Remove(dir)
		}
	}
	u.file.Close()
	u.file = nil
}

// sweepUnswept does what sessions left that were killed, or whose commands left processes, and returns a line for each
// name.
func sweepUnswept(dir, prefix, aside string) (lines []string) {
	files, _ := filepath.Glob(filepath.Join(dir, prefix+"-*"))
	for _, file := range files {
		f, err := openRegular(file)
		if err != nil {
			continue
		}
		if hasEnded(f, file) {
			lines = append(lines, sweepFile(f, file, aside)...)
		}
		f.Close()
	}
	return lines
}

// hasEnded reports whether the session of a file has ended, and takes its lock. A child that a killed session had just
// forked holds the lock until it runs its program.
func hasEnded(f *os.File, file string) bool {
	for range 200 {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true
		}
		if r, _ := readRecord(file); r.Session == 0 || alive([]int{r.Session}) {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// readRecord returns the record of a file, and whether commands ran when it was written.
func readRecord(file string) (r record, running bool) {
	text, _, err := readRegular(file)
	if err != nil || len(text) < 2 || json.Unmarshal(text[1:], &r) != nil {
		return record{}, false
	}
	return r, text[0] == 'R'
}

func sweepFile(f *os.File, file, aside string) (lines []string) {
	r, running := readRecord(file)
	if running || len(r.Left) > 0 {
		lines, _ = watch{names: r.Names, above: r.Above, homes: r.Homes}.sweep(aside)
	}
	if !alive(r.Left) {
		os.Remove(file)
	}
	return lines
}

// alive reports whether one of the processes is still there.
func alive(pids []int) bool {
	for _, pid := range pids {
		if err := unix.Kill(pid, 0); err == nil || errors.Is(err, unix.EPERM) {
			return true
		}
	}
	return false
}
