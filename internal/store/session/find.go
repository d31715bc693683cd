package session

import (
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
)

// Latest is the session of a working folder that was written last, for --continue.
// Sessions of subagents and sessions without a message are passed over.
func (s *Store) Latest(dir string) (Info, error) {
	var failed error
	for info, err := range s.List(dir) {
		if err != nil {
			failed = err
			continue
		}
		if info.FirstPrompt != "" {
			return info, nil
		}
	}
	if failed != nil {
		return Info{}, failed
	}
	return Info{}, missing("there is no session of %s yet; start one, or name one with --resume ID", realDir(dir))
}

// Find looks a session up by its id, a prefix of it that no other id has, or its title: first among those
// of dir ("" is none), then among all.
func (s *Store) Find(dir, name string) (Info, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return Info{}, fmt.Errorf("session: give an id, the beginning of one, or a title; lathe session list shows them")
	}
	dirs := []string{""}
	if dir != "" {
		dirs = []string{dir, ""}
	}
	for _, search := range []func(dir, name string) ([]Info, error){s.byID, s.byTitle} {
		for _, d := range dirs {
			found, err := search(d, name)
			if err != nil || len(found) == 1 {
				return first(found), err
			}
			if len(found) > 1 {
				return Info{}, fmt.Errorf("session: %q fits %d sessions; give more of the id: %s", name, len(found),
					describe(found))
			}
		}
	}
	return Info{}, s.unknown(dirs, name)
}

func first(found []Info) Info {
	if len(found) == 0 {
		return Info{}
	}
	return found[0]
}

// byID lists the sessions whose id starts with prefix; also one whose log cannot be read.
func (s *Store) byID(dir, prefix string) ([]Info, error) {
	prefix = strings.ToLower(prefix)
	return collect(s.list(dir, func(c candidate) bool { return strings.HasPrefix(c.id, prefix) }))
}

func (s *Store) byTitle(dir, title string) ([]Info, error) {
	found, err := collect(s.list(dir, every))
	return slices.DeleteFunc(found, func(i Info) bool { return i.Title == "" || !strings.EqualFold(i.Title, title) }), err
}

// collect fails only when the store cannot be read at all.
func collect(seq iter.Seq2[Info, error]) ([]Info, error) {
	var out []Info
	for info, err := range seq {
		if info.ID == "" && err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

// missingError says that there is no such session; it is fs.ErrNotExist.
type missingError string

func (e missingError) Error() string   { return string(e) }
func (missingError) Is(err error) bool { return err == fs.ErrNotExist }

func missing(format string, args ...any) error { return missingError(fmt.Sprintf(format, args...)) }

// unknown names the nearest id when the name looks like one mistyped, else the newest sessions.
func (s *Store) unknown(dirs []string, name string) error {
	var all []Info
	for _, d := range dirs {
		var err error
		if all, err = collect(s.List(d)); err != nil || len(all) > 0 {
			break
		}
	}
	if len(all) == 0 {
		return missing("there is no session %q, nor any other yet", name)
	}
	what := "the newest are"
	if near := nearest(all, strings.ToLower(name)); len(near) > 0 {
		all, what = near, "the nearest are"
	}
	return missing("there is no session %q; %s %s", name, what, describe(all))
}

// nearest lists the sessions whose ids share the longest beginning with name, if it is long enough to mean
// something: the first eight digits are a time.
func nearest(all []Info, name string) []Info {
	best := 7
	var out []Info
	for _, i := range all {
		n := 0
		for n < min(len(name), len(i.ID)) && name[n] == i.ID[n] {
			n++
		}
		if n > best {
			best, out = n, nil
		}
		if n == best && n > 7 {
			out = append(out, i)
		}
	}
	return out
}

// describe lists at most five sessions on one line.
func describe(found []Info) string {
	var out []string
	for _, i := range found[:min(len(found), 5)] {
		label := i.Title
		if label == "" {
			label = i.FirstPrompt
		}
		if r := []rune(label); len(r) > 40 {
			label = string(r[:39]) + "…"
		}
		out = append(out, fmt.Sprintf("%s (%q)", i.ID, label))
	}
	if n := len(found) - 5; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}
