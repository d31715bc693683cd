package checkpoint

import (
	"context"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Covered says in a line which files of a call that destroys data undo would bring back, and which not; "" for a call
// that destroys none, or where nothing is kept. Of a command it looks at the files that the command names, and at all
// where it names none.
func (f *Folder) Covered(ctx context.Context, r permission.Request) string {
	command, destructive := false, false
	for _, a := range r.Accesses {
		command = command || a.Kind == permission.Exec
		destructive = destructive || a.Command != nil && a.Command.Class == permission.ClassDestructive
	}
	if command && f.store != nil {
		f.store.Ahead() // while the question is read
	}
	targets := targets(r.Accesses)
	switch {
	case command && !destructive || !command && len(targets) == 0:
		return ""
	case f.store == nil:
		return "off; this cannot be taken back"
	case !command:
		if c := f.store.CoverageOfEdits(targets); len(c.Not) > 0 {
			return c.String()
		}
		return ""
	case len(targets) == 0:
		return "only in the working folders: " + f.store.Coverage(ctx, nil).String()
	}
	return f.store.Coverage(ctx, targets).String()
}
