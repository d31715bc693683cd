package boundary

import (
	"slices"
	"sync"
)

// overlap remembers what was set aside, for the commands that were running then: one that began when a planted file was
// there takes it for a part of the project, and may plant it again.
type overlap struct {
	mu    sync.Mutex
	count int
	names map[string]sweptName
	below map[string]sweptRepo
}

// sweptName is a name of a watch, as it was before anybody planted it.
type sweptName struct {
	at         int
	was, above string
}

// sweptRepo is a path of a below, as it was; nil: it was not there.
type sweptRepo struct {
	at   int
	repo *repo
}

// now is the present moment, for correct.
func (o *overlap) now() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.count
}

// add notes what one command planted.
func (o *overlap) add(w watch, names []string, found map[string]*repo) {
	if len(names)+len(found) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.names == nil {
		o.names, o.below = map[string]sweptName{}, map[string]sweptRepo{}
	}
	o.count++
	for _, name := range names {
		o.names[name] = sweptName{o.count, w.names[name], w.above[name]}
	}
	for path, was := range found {
		o.below[path] = sweptRepo{o.count, was}
	}
}

// correct takes out of a command's view of the project what others planted and was set aside since it began.
func (o *overlap) correct(began int, w watch, all map[string]below, written []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, s := range o.names {
		if s.at > began && slices.ContainsFunc(written, func(dir string) bool { return within(name, dir) }) {
			w.names[name], w.above[name] = s.was, s.above
		}
	}
	for path, s := range o.below {
		if s.at <= began {
			continue
		}
		for dir, b := range all {
			if !within(path, dir) {
				continue
			}
			delete(b.names, path)
			delete(b.kept, path)
			delete(b.repos, path)
			if s.repo != nil {
				b.names[path], b.repos[path] = true, s.repo
			}
		}
	}
}
