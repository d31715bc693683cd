package shell

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// repeat is a command that stands more than once in a long line. Its use and its texts follow from its words alone, so
// they are worked out once.
type repeat struct {
	dir  string
	use  program.Use
	text string
	deep []string

	first *call // as the checks see it
	seen  int
}

// repeatsFrom is how many commands a line has before repeats are looked for: most are shorter.
const repeatsFrom = 8

// checkedRepeats is how many of the same commands the checks see: as many as a finding names.
const checkedRepeats = 3

// repeatOf returns the entry of a command of literal words that the line itself shows, nil for others. The entry is new
// where its first is nil.
func (a *analysis) repeatOf(c *call, sc *scope) *repeat {
	if len(a.calls) < repeatsFrom || a.mute > 0 || !c.placed || c.sub || c.guess || len(c.assigns) > 0 {
		return nil
	}
	if !c.asWritten() {
		return nil
	}
	r := a.repeats[c.raw]
	if r != nil && r.dir == sc.dir() {
		return r
	}
	if a.repeats == nil {
		a.repeats = map[string]*repeat{}
	}
	r = &repeat{dir: sc.dir()}
	a.repeats[c.raw] = r
	return r
}

// again reports whether the checks have seen enough of commands that are the same as c to them.
func (r *repeat) again(c *call) bool {
	if r.first == nil {
		r.first = c
	}
	f := r.first
	if c.use.Class != f.use.Class || c.use.Reason != f.use.Reason || len(c.use.Reads) != len(f.use.Reads) ||
		len(c.use.Inner) != len(f.use.Inner) ||
		c.in.any != f.in.any || c.in.known != f.in.known || c.in.text != f.in.text || c.in.file != f.in.file ||
		len(c.listed)+len(f.listed) > 0 || c.carried != f.carried || c.compares != f.compares || c.back != f.back ||
		!slices.Equal(c.dirs, f.dirs) {
		return false
	}
	r.seen++
	return r.seen > checkedRepeats
}

// asWritten reports whether the words are those of the line to the letter, with one blank between them, and nothing in
// them is expanded.
func (c *call) asWritten() bool {
	rest := c.raw
	for i := range c.words {
		w := &c.words[i]
		if w.unknown || w.worked || w.quoted || w.glob || w.tilde || w.braced || w.guessed || w.code != "" ||
			w.list != nil || w.produced != nil {
			return false
		}
		between := " "
		if i == 0 {
			between = ""
		}
		behind, ok := strings.CutPrefix(rest, between)
		if !ok || !strings.HasPrefix(behind, w.text) || w.show != w.text {
			return false
		}
		rest = behind[len(w.text):]
	}
	return rest == ""
}
