package dash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// model is what the screen shows.
type model struct {
	w, h  int
	theme *theme.Theme
	now   time.Time

	jobs    []supervisor.Job // in the order of the screen
	known   map[string]supervisor.State
	reading bool
	pins    map[string]bool
	pulls   map[string]pull // by folder
	chosen  string          // the id of the row under the mark
	top     int             // the first line of the list that is shown

	doing  doing
	text   string // in the line at the bottom
	filter string
	peek   *peek
	note   string // for the user, until the next key
	ending string // the session that a second ctrl+x removes
	left   bool
}

// pull is the pull request of a folder, and when it was asked for.
type pull struct {
	text  string
	asked time.Time
}

// doing is what the line at the bottom is for.
type doing int

const (
	starting  doing = iota // a new session; in a peek: an answer or a prompt
	renaming               // the chosen session
	filtering              // the list
)

func newModel() *model {
	return &model{pins: map[string]bool{}, pulls: map[string]pull{}}
}

// group is a part of the list.
type group int

const (
	needsYou group = iota
	working
	done
)

var groupNames = [...]string{"Needs you", "Working", "Done"}

func groupOf(j supervisor.Job) group {
	switch j.State {
	case supervisor.Blocked:
		return needsYou
	case supervisor.Working:
		return working
	}
	return done
}

// take takes the newest list, and returns what to notify the user of.
func (m *model) take(jobs []supervisor.Job, err error) (news []string) {
	if err != nil {
		m.note = err.Error()
	}
	first := m.known == nil
	known := map[string]supervisor.State{}
	for _, j := range jobs {
		known[j.ID] = j.State
		if was := m.known[j.ID]; !first && was != j.State && was != "" {
			if text := newsOf(j); text != "" {
				news = append(news, text)
			}
		}
	}
	m.known = known
	m.jobs = slices.DeleteFunc(slices.Clone(jobs), func(j supervisor.Job) bool { return !m.fits(j) })
	slices.SortStableFunc(m.jobs, func(a, b supervisor.Job) int {
		return cmp.Or(int(groupOf(a)-groupOf(b)), before(m.pins[a.ID], m.pins[b.ID]), b.Changed.Compare(a.Changed))
	})
	if m.at() < 0 && len(m.jobs) > 0 {
		m.chosen = m.jobs[0].ID
	}
	return news
}

// before sorts what has a mark to the front.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func newsOf(j supervisor.Job) string {
	switch j.State {
	case supervisor.Blocked:
		return title(j) + " needs you"
	case supervisor.Done:
		return title(j) + " is done"
	case supervisor.Failed:
		return title(j) + " failed"
	}
	return ""
}

// fits reports whether the filter lets a job through: each of its words is in the name, the folder, the state or the
// activity.
func (m *model) fits(j supervisor.Job) bool {
	all := strings.ToLower(strings.Join([]string{j.ID, title(j), j.CWD, string(j.State), j.Activity}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(m.filter)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// title is what a row is called.
func title(j supervisor.Job) string {
	first, _, _ := strings.Cut(strings.TrimSpace(j.Prompt), "\n")
	return cmp.Or(j.Name, first, j.ID)
}

// at is the place of the chosen row; -1: there is none.
func (m *model) at() int {
	return slices.IndexFunc(m.jobs, func(j supervisor.Job) bool { return j.ID == m.chosen })
}

// job is the chosen one.
func (m *model) job() (supervisor.Job, bool) {
	if i := m.at(); i >= 0 {
		return m.jobs[i], true
	}
	return supervisor.Job{}, false
}

// move moves the mark.
func (m *model) move(by int) {
	if len(m.jobs) > 0 {
		m.chosen = m.jobs[min(max(m.at()+by, 0), len(m.jobs)-1)].ID
	}
}

// age is a short duration.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// flat is text for a line: its line breaks are blanks.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }
