package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// rewindFiles takes back what was done to files since a message of the user, or reports only what would change. Files
// that somebody else changed since are left alone, and named in error.
func (l *local) rewindFiles(_ context.Context, r controlRequest) (any, error) {
	log := l.front().Log()
	history, err := l.inst.Checkpoints().History(log)
	if err != nil {
		return nil, fmt.Errorf("rewind_files: %w", err)
	}
	message, _, err := checkpoint.Message(log, r.UserMessage)
	if err != nil {
		return nil, fmt.Errorf("rewind_files: %w", err)
	}
	changed, added, removed := []string{}, 0, 0
	out := func(left []string) any {
		answer := map[string]any{"canRewind": true, "filesChanged": changed, "insertions": added, "deletions": removed}
		if len(left) > 0 {
			answer["error"] = strings.Join(left, "; ")
		}
		return answer
	}
	plan, err := history.Since(checkpoint.Since(log, message))
	if errors.Is(err, snapshot.ErrNothing) {
		return out(nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("rewind_files: %w", err)
	}
	var left []string
	for _, f := range plan.Files {
		switch {
		case f.Blocked != "":
			left = append(left, plan.Rel(f)+" stays: "+f.Blocked)
		case f.Foreign:
			left = append(left, plan.Rel(f)+" stays: somebody else changed it since")
		default:
			d := plan.Diff(f)
			changed, added, removed = append(changed, f.Path), added+d.Added, removed+d.Removed
		}
	}
	if !r.DryRun {
		if _, err := plan.Apply(nil); err != nil {
			return nil, fmt.Errorf("rewind_files: %w", err)
		}
	}
	return out(left), nil
}
