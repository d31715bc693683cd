package console

import (
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// mostCounted is how many changed files have their lines counted after commands.
const mostCounted = 200

// countChanges lists the files that a session changed, by commands too, from its snapshots. Without snapshots the list
// stays that of its edits.
func (c *Console) countChanges(s *conversation.Session) {
	history, err := c.inst.Checkpoints().History(s.Log())
	if err != nil {
		return
	}
	history.Branch = func(string) bool { return true } // going back in the conversation alone leaves files unchanged
	steps, err := history.Steps()
	if err != nil || len(steps) == 0 {
		return
	}
	changes := snapshot.Joined(steps)
	list := make([]event.ChangedFile, len(changes))
	for i, change := range changes {
		list[i].Path = change.Path
		if i < mostCounted {
			d := history.Store.Diff(change)
			list[i].Added, list[i].Removed = d.Added, d.Removed
		}
	}
	c.mu.Lock()
	front := c.front == s
	if front {
		c.seen.changed, c.seen.ran = list, false
	}
	c.mu.Unlock()
	if front {
		c.touch()
	}
}
