package consult

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/store/session"
)

// Dialogs are the tools of a session that ask the user; plan is nil for a subagent.
func Dialogs(plan *Plan) map[string]Dialog {
	out := map[string]Dialog{QuestionName: Asking()}
	if plan != nil {
		out[EnterPlanName], out[ExitPlanName] = plan.Entering(), plan.Approving()
	}
	return out
}

// Useless reports a tool of this package that is of no use in a session: nobody answers there, or plan mode is not its
// own to enter and leave.
func Useless(name string, asks bool, plan *Plan) bool {
	switch name {
	case QuestionName:
		return !asks
	case EnterPlanName, ExitPlanName:
		return !asks || plan == nil
	}
	return false
}

// FileOf is the plan's file of a session, with links resolved; empty when nothing is kept.
func FileOf(log *session.Session) string {
	if log == nil {
		return ""
	}
	dir, err := filepath.EvalSymlinks(log.Folder())
	if err != nil {
		return ""
	}
	return filepath.Join(dir, FileName)
}

// Folder is the folder of the setting plansDirectory: from the home where it begins with ~, else from root.
func Folder(setting, home, root string) string {
	switch {
	case setting == "" || filepath.IsAbs(setting):
		return setting
	case setting == "~" || strings.HasPrefix(setting, "~"+string(os.PathSeparator)):
		return filepath.Join(home, setting[1:])
	}
	return filepath.Join(root, setting)
}
