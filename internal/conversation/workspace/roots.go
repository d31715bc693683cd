package workspace

import (
	"os"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// AddRoots adds folders to work in, and the long texts of the session's log, which may be nil, to read. The policy gets
// these and, unless it is shared with another session, the folders that were there before.
func AddRoots(env *tool.Env, policy *permission.Policy, shared bool, dirs []string, log *session.Session) error {
	known := 0
	if shared {
		known = len(env.Roots.List())
	}
	for _, dir := range dirs {
		if err := env.Roots.Add(dir, false); err != nil {
			return err
		}
	}
	if log != nil {
		if err := os.MkdirAll(log.Blobs(), 0o700); err != nil {
			return err
		}
		for _, dir := range log.BlobDirs() {
			if err := env.Roots.Add(dir, true); err != nil {
				return err
			}
		}
	}
	for _, r := range env.Roots.List()[known:] {
		policy.AddRoot(r.Path, r.ReadOnly)
	}
	return nil
}
