package prompt

import (
	"fmt"
	"slices"
)

// level is how general a memory file is.
type level int

const (
	organisation level = iota
	user
	project // with the user's own files for this project
	levels
)

// reserved is the room, in characters, that each level has whatever the others need; together they are memoryLimit.
var reserved = [levels]int{organisation: 20_000, user: 20_000, project: 40_000}

// leastShortened is the fewest characters of a file that are worth sending.
const leastShortened = 500

// budget divides the room: each level gets its reserve, as far as it needs it, and the rest goes
// to the levels from the organisation down. So no repository pushes out the instructions of others.
func budget(need [levels]int) [levels]int {
	var room [levels]int
	spare := memoryLimit
	for l := range room {
		room[l] = min(need[l], reserved[l])
		spare -= room[l]
	}
	for l := range room {
		more := min(need[l]-room[l], spare)
		room[l] += more
		spare -= more
	}
	return room
}

// fit returns the text of each entry as it is sent, empty for those that are left out. Within the project the
// last files, the most specific ones, get room first; within the other levels the first.
func (m *Memory) fit() []string {
	var need [levels]int
	for _, e := range m.Entries {
		need[e.level] += len(e.Text)
	}
	room := budget(need)
	texts := make([]string, len(m.Entries))
	take := func(i int) {
		e := m.Entries[i]
		switch left := room[e.level]; {
		case len(e.Text) <= left:
			texts[i] = e.Text
			room[e.level] -= len(e.Text)
		case left > leastShortened:
			texts[i] = shorten(e.Text, left)
			room[e.level] = 0
		default:
			room[e.level] = 0
		}
	}
	for i := range m.Entries {
		if m.Entries[i].level != project {
			take(i)
		}
	}
	for i := range slices.Backward(m.Entries) {
		if m.Entries[i].level == project {
			take(i)
		}
	}
	return texts
}

// Cuts lists the files that do not reach the model, or not whole.
func (m *Memory) Cuts() []string {
	var out []string
	for i, text := range m.fit() {
		e := m.Entries[i]
		switch {
		case text == "":
			out = append(out, e.Path+" is left out")
		case text != e.Text || e.Size > entryLimit:
			out = append(out, fmt.Sprintf("%s is cut (%d characters)", e.Path, e.Size))
		}
	}
	return out
}
