package checkpoint

import (
	"context"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Covered says in a line which files of a call that destroys data undo would bring back, and which not; "" for a call that destroys
// none, or where nothing is kept. Of a command it looks at the files that the command names, and at all where it names none.
func (f *Folder) Covered(ctx context.Context, r permission.Request) string {
	var targets []string
	command, destructive := false, false
	for _, a := range r.Accesses {
		switch {
		case a.Kind == permission.Exec:
			command = true
			destructive = destructive || a.Command != nil && a.Command.Class == permission.ClassDestructive
		case a.Kind == permission.Write && filepath.IsAbs(a.Target) && a.Target != "/dev/null":
			targets = append(targets, a.Target)
		}
	}
	switch {
	case command && !destructive || !command && len(targets) == 0:
		return ""
	case f.store == nil:
		return "off; this cannot be taken back"
	case !command:
		if c := f.store.CoverageOfEdits(targets); len(c.Not) > 0 {
			return "brings back " + c.String()
		}
		return ""
	case len(targets) == 0:
		return "brings back nothing but files, those of the working folders: " + f.store.Coverage(ctx, nil).String()
	}
	return "brings back " + f.store.Coverage(ctx, targets).String()
}
