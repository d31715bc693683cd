package cli

import (
	"path/filepath"
	"slices"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/extend/skill/locate"
	"github.com/lathe-dev/lathe/internal/extend/style"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// isFileCommand reports whether a prompt that begins with /name invokes a skill or a command from a file, which the
// session then loads. command.Owned says whether a file comes before a built-in command; clash says it to the user.
func isFileCommand(o *Options, name string) (fromFile bool, clash string, err error) {
	cfg, dir, err := loadConfig(o)
	if err != nil {
		return false, "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	set := plugin.NewSet(func() *config.Config { return cfg }, plugin.Open(cfg.Paths().DataHome, nil, nil),
		o.pluginDirs(dir), o.Bare)
	files := skill.Find(append(extension.PluginSkills(set), locate.Places(cfg, dir, locate.Root(cfg, dir)).Folders()...))
	_, own := command.Owned(files, name)
	_, builtIn := command.Find(name)
	s, ok := files.Get(name)
	return own || ok && !builtIn && !s.HiddenFromUser, command.Clash(files, name), nil
}

// fileCommands describes the skills and commands from files that a person can type.
func fileCommands(all []*skill.Skill) []Described {
	var out []Described
	for _, k := range all {
		_, taken := command.Find(k.Name)
		if name := command.Typed(k); !k.HiddenFromUser && (!taken || k.Source == skill.SourceUser || name != k.Name) {
			out = append(out, Described{Name: name, Text: k.Description, Hint: k.ArgumentHint})
		}
	}
	return out
}

func skillNames(all []*skill.Skill) []string {
	var out []string
	for _, k := range all {
		out = append(out, k.Name)
	}
	return out
}

// styleNames lists the output styles of a conversation.
func styleNames(c Conversation) []string {
	if l, ok := c.(*local); ok {
		return l.styleNames()
	}
	return []string{style.Default}
}

func (l *local) styleNames() []string {
	all, _ := l.inst.Extensions().Styles.All()
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.Name
	}
	return out
}

// slashCommands are lathe's own, those of files and the prompts of servers.
func (l *local) slashCommands(files []*skill.Skill) []Described {
	out := fileCommands(files)
	if l.known == nil { // commands are off
		return out
	}
	out = append(slices.DeleteFunc(slices.Clone(l.known), func(d Described) bool {
		return slices.ContainsFunc(out, func(own Described) bool { return own.Name == d.Name })
	}), out...)
	for _, p := range l.inst.Servers().Prompts() {
		out = append(out, Described{p.Name, p.Help, p.Args, nil})
	}
	return out
}
