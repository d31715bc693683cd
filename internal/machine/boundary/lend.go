package boundary

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// lent is a configuration of git's of which a command has a copy.
type lent struct {
	path, copy string
	text       []byte // as it was
}

// LendConfig gives the command copies of the configurations of git's repositories, and reports whether the tier can do
// that. Done gives the changes back, if they are harmless: a key that names a program is never in the file. Call it for
// lines that may run git: to other programs a link takes the place of the file.
func (r *Run) LendConfig() bool {
	if r.Support.Tier < confine.Full || r.Support.Carrier != "" || r.Policy.Mode != confine.Workspace {
		return false
	}
	denied := r.b.resolve(r.b.s.Filesystem.DenyWrite)
	for _, path := range r.Policy.Protect {
		if !isGitConfig(path) || slices.ContainsFunc(denied, func(dir string) bool { return within(path, dir) }) {
			continue
		}
		text, fi, err := readRegular(path)
		if err != nil {
			continue // it stays read-only
		}
		name := "git-config-" + strconv.Itoa(len(r.lent))
		outside, _ := r.PrivateFile(name)
		if err := os.WriteFile(outside, text, fi.Mode().Perm()); err != nil {
			continue
		}
		r.lent = append(r.lent, lent{path, outside, text})
		r.Policy.Copies = append(r.Policy.Copies, confine.Copy{Path: path, Name: name})
	}
	return true
}

// returned gives the copies back, and returns a line for the model for each that is not kept.
func (r *Run) returned() (lines []string) {
	for _, l := range r.lent {
		now, _, err := readRegular(l.copy)
		if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(now, l.text) {
			continue
		}
		if err == nil {
			err = l.giveBack(now, r.Policy.Write)
		}
		if err != nil {
			lines = append(lines, fmt.Sprintf("the command's change of %s was not kept: %v", l.path, err))
		}
	}
	r.lent = nil
	return lines
}

// giving is held while a configuration is written.
var giving sync.Mutex

// giveBack writes a change into the configuration, as git does: under its lock.
func (l *lent) giveBack(now []byte, written []string) error {
	giving.Lock()
	defer giving.Unlock()
	p, err := openPlace(l.path)
	if err != nil {
		return err
	}
	defer p.close()
	unlock, err := lockConfig(p)
	if err != nil {
		return fmt.Errorf("%w. If no other git runs, remove %s.lock and run the command again", err, l.path)
	}
	defer unlock()
	real, fi, err := readRegular(l.path)
	if err != nil {
		return err
	}
	text, ok := mergeConfig(string(l.text), string(now), string(real))
	if !ok {
		return errors.New("another program changed the same section meanwhile; run the command again")
	}
	c := openConfig{path: l.path, written: written, text: real}
	if key := c.harmful(text); key != "" {
		return fmt.Errorf("it sets %s, which can make git run a program or trust another file; "+
			"if that is wanted, the user makes the change in a terminal", strings.TrimSuffix(key, "."))
	}
	return p.replace([]byte(text), fi.Mode().Perm())
}

// lockConfig takes git's lock of a file, which another git holds for milliseconds.
func lockConfig(p place) (unlock func(), err error) {
	for range 100 {
		if unlock, err = p.lock(); !errors.Is(err, fs.ErrExist) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return unlock, err
}

// mergeConfig applies the change from base to now to another version of a configuration, by sections. It reports false
// if both changed the same one.
func mergeConfig(base, now, other string) (string, bool) {
	if base == other {
		return now, true
	}
	_, was := sections(base)
	names, is := sections(now)
	theirs, have := sections(other)
	var out strings.Builder
	for _, name := range theirs {
		switch {
		case is[name] == was[name] || is[name] == have[name]:
			out.WriteString(have[name])
		case was[name] == have[name]:
			out.WriteString(is[name])
		default:
			return "", false
		}
	}
	for _, name := range names {
		_, known := have[name]
		switch {
		case known || is[name] == was[name]:
		case was[name] != "":
			return "", false
		default:
			out.WriteString(is[name])
		}
	}
	return out.String(), true
}

// sections splits a configuration at its headings. A heading that comes twice has two names.
func sections(text string) (names []string, of map[string]string) {
	of = map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if head := strings.TrimSpace(line); strings.HasPrefix(head, "[") {
			for name = head; of[name] != ""; name += "'" {
			}
		}
		if _, ok := of[name]; !ok {
			names = append(names, name)
		}
		of[name] += strings.TrimSuffix(line, "\n") + "\n"
	}
	return names, of
}
