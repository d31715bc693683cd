package conversation

import (
	"os"
	"slices"
)

// addRoots adds the folders of the settings and of the command line to those that the session works in, and the long
// texts of its log to those that it reads. A subagent shares its parent's folders and policy.
func (s *Session) addRoots() error {
	var dirs []string
	known := 0
	if s.parent != nil {
		known = len(s.env.Roots.List())
	} else {
		dirs = append(slices.Clone(s.inst.opts.AddDirs), s.inst.settings().Permissions.AdditionalDirectories...)
	}
	for _, dir := range dirs {
		if err := s.env.Roots.Add(dir, false); err != nil {
			return err
		}
	}
	if log := s.Log(); log != nil {
		if err := os.MkdirAll(log.Blobs(), 0o700); err != nil {
			return err
		}
		for _, dir := range log.BlobDirs() {
			if err := s.env.Roots.Add(dir, true); err != nil {
				return err
			}
		}
	}
	for _, r := range s.env.Roots.List()[known:] {
		s.Policy().AddRoot(r.Path, r.ReadOnly)
	}
	return nil
}
