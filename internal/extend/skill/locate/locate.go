// Package locate finds out, from the settings, in which folders skills, commands and output styles are to be looked
// for. It reads none of them.
package locate

import (
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// Places are the places of the skills for work in a folder of a project, which has no links in it. Root is the
// project's topmost folder.
func Places(conf *config.Config, dir, root string) skill.Places {
	paths := conf.Paths()
	p := skill.Places{
		Home: paths.Home, ClaudeHome: paths.ClaudeHome, ConfigHome: paths.ConfigHome, Root: root, Dir: dir,
		NoUser: !conf.Reads(config.User), NoProject: !conf.Reads(config.Project),
	}
	for _, path := range prompt.ManagedFiles() {
		p.Managed = append(p.Managed, filepath.Dir(path))
	}
	if dirs := conf.Settings.SkillDirs; len(dirs) > 0 {
		p.Dirs = extra(conf, dirs)
	}
	return p
}

// Root is the topmost folder of the project: the repository's, else the folder of the settings.
func Root(conf *config.Config, dir string) string {
	if repo, ok := git.Find(dir); ok {
		return repo.Root
	}
	if real, err := filepath.EvalSymlinks(conf.Paths().Root); err == nil {
		return real
	}
	return dir
}

// extra are the folders of skillDirs. One that the project's file names is the project's.
func extra(conf *config.Config, dirs []string) []skill.Extra {
	var layers []config.Layer
	for _, v := range conf.Explain() {
		if strings.HasPrefix(v.Path, "skillDirs[") {
			layers = append(layers, v.Origin.Layer)
		}
	}
	out := make([]skill.Extra, len(dirs))
	for n, dir := range dirs {
		out[n] = skill.Extra{Path: dir, Project: n >= len(layers) || layers[n] == config.Project}
	}
	return out
}
