package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/skill"
)

// A person's own file comes before lathe's command of its name; that one is /lathe:NAME then. A project's file never
// takes a name of lathe's: it is /project:NAME.

// builtIn is put before the name of a command of lathe's.
const builtIn = "lathe:"

// kept are the commands that keys and views run by name.
var kept = []string{"help", "mode", "model", "effort", "rewind", "reload", "quit", "tasks"}

// Owned returns the person's own file that takes the name of a command.
func Owned(c *skill.Catalog, name string) (*skill.Skill, bool) {
	cmd, clash := Find(name)
	s, ok := c.Get(skill.SourceUser + ":" + strings.TrimPrefix(name, "/"))
	return s, clash && ok && !s.HiddenFromUser && !slices.Contains(kept, cmd.Name) && !strings.HasPrefix(name, builtIn)
}

// Typed is the name by which a person invokes a file.
func Typed(s *skill.Skill) string {
	cmd, clash := Find(s.Name)
	switch {
	case !clash, s.Source == skill.SourceUser && !slices.Contains(kept, cmd.Name):
		return s.Name
	case s.Source == skill.SourceUser, s.Source == skill.SourceProject:
		return s.Source + ":" + s.Name
	}
	return s.Name
}

// Clash says once what a name means that a file and a command of lathe's have; "": there is no clash.
func Clash(c *skill.Catalog, name string) string {
	name = strings.TrimPrefix(name, "/")
	if _, ok := Find(name); !ok || strings.HasPrefix(name, builtIn) {
		return ""
	}
	if s, ok := Owned(c, name); ok {
		return fmt.Sprintf("/%s is your own command (%s); lathe's is /%s%s", name, s.Path, builtIn, name)
	}
	if s, ok := c.Get(name); ok && !s.HiddenFromUser && Typed(s) != s.Name {
		return fmt.Sprintf("/%s is lathe's command; that of %s is /%s", name, s.Path, Typed(s))
	}
	return ""
}

// BuiltIn has the lists and pages of a command of lathe's go on with lathe's commands.
func BuiltIn(c *skill.Catalog, out event.Output) event.Output {
	lines := func(all ...*string) {
		for _, line := range all {
			name, _, _ := strings.Cut(*line, " ")
			if _, ok := Owned(c, name); ok {
				*line = builtIn + *line
			}
		}
	}
	if p := out.Pick; p != nil {
		lines(&p.Command, &p.Search, &p.Live)
		for i := range p.Actions {
			lines(&p.Actions[i].Command, &p.Actions[i].Undo, &p.Actions[i].Refresh)
		}
	}
	if p := out.Page; p != nil {
		lines(&p.Live, &p.Tell, &p.Back)
	}
	if out.Edit != nil {
		lines(&out.Edit.Then)
	}
	return out
}

// UnknownError says that no command has a name.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }
