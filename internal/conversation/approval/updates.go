package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Settings are the settings that hooks may change.
type Settings interface {
	Config() *config.Config
	Reload() ([]config.Change, error)
}

// hookScope is the source of rules that hooks gave while the session ran. They are not in the log: a hook is asked
// again after that.
const hookScope = "a hook"

// place is where a change of permissions is kept: in the session, and if keep is set in a file too.
type place struct {
	layer config.Layer
	keep  bool
}

func placeOf(destination string, foreign bool) (place, error) {
	switch destination {
	case "", "session", "cliArg":
		return place{}, nil
	case "localSettings":
		return place{config.Local, true}, nil
	case "projectSettings":
		return place{config.Project, true}, nil
	case "userSettings":
		if foreign {
			return place{}, errors.New("a hook of a project or a plugin changes no settings of yours")
		}
		return place{config.User, true}, nil
	}
	return place{}, fmt.Errorf("there is no destination %q", destination)
}

// update makes a change of rules, folders or the mode that a hook asked for. It takes no rule away that asks or denies,
// and a rule that it adds lifts no question of another rule or a guard.
func (p *Approver) update(u hook.Update, foreign bool) error {
	at, err := placeOf(u.Destination, foreign)
	if err != nil {
		return err
	}
	switch u.Type {
	case "addRules", "replaceRules", "removeRules":
		err = p.updateRules(u, at)
	case "setMode":
		err = p.updateMode(permission.Mode(u.Mode), at)
	case "addDirectories":
		err = p.addFolders(u.Directories, at)
	case "removeDirectories":
		err = p.removeFolders(u.Directories, at)
	default:
		return fmt.Errorf("lathe has no change %q", u.Type)
	}
	if at.keep {
		_, failed := p.Settings.Reload()
		err = errors.Join(err, failed)
	}
	return err
}

func (p *Approver) updateRules(u hook.Update, at place) error {
	effect := permission.Effect(u.Behavior)
	if effect != permission.Allow && effect != permission.Ask && effect != permission.Deny {
		return fmt.Errorf("the behavior %q is none of allow, ask and deny", u.Behavior)
	}
	var rules []permission.Rule
	for _, r := range u.Rules {
		rule, err := permission.ParseRule(p.tools, r.String(), effect, permission.Source{Name: hookScope, Base: p.dir})
		if err != nil {
			return err
		}
		rules = append(rules, rule)
	}
	switch u.Type {
	case "removeRules":
		if effect != permission.Allow {
			return fmt.Errorf("a hook takes no %s rule away", effect)
		}
		return p.removeRules(rules, at)
	case "replaceRules":
		if err := p.makeRoom(rules, effect, at); err != nil {
			return err
		}
	}
	return p.addRules(rules, effect, at)
}

// addRules puts rules in force and keeps them.
func (p *Approver) addRules(rules []permission.Rule, effect permission.Effect, at place) (err error) {
	for _, r := range rules {
		if effect == permission.Allow {
			p.Policy().GrantByHook(r)
			p.version.Add(1)
		} else {
			err = errors.Join(err, p.Grant(r.Text, effect))
		}
		if at.keep {
			err = errors.Join(err, p.Settings.Config().Append("permissions."+string(effect), r.Text, at.layer))
		}
	}
	return err
}

func (p *Approver) removeRules(rules []permission.Rule, at place) (err error) {
	for _, r := range rules {
		had := p.Ungrant(r.Text, permission.Allow)
		switch {
		case at.keep:
			err = errors.Join(err, p.Settings.Config().Drop("permissions.allow", r.Text, at.layer))
		case !had:
			err = errors.Join(err, fmt.Errorf("this session has no rule allow %s", r.Text))
		}
	}
	return err
}

// makeRoom takes the rules away that others replace. Rules that ask or deny stay: when one would go, that is the error.
func (p *Approver) makeRoom(rules []permission.Rule, effect permission.Effect, at place) error {
	var old []string
	for _, text := range p.texts(effect, at) {
		if !slices.ContainsFunc(rules, func(r permission.Rule) bool { return r.Text == text }) {
			old = append(old, text)
		}
	}
	if effect != permission.Allow && len(old) > 0 {
		return fmt.Errorf("it would take the %s rule %s away", effect, old[0])
	}
	for _, text := range old {
		p.Ungrant(text, effect)
	}
	if !at.keep || len(old) == 0 {
		return nil
	}
	list := []string{}
	for _, r := range rules {
		list = append(list, r.Text)
	}
	value, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return p.Settings.Config().Set("permissions."+string(effect), string(value), at.layer)
}

// texts lists the rules of an effect in a place.
func (p *Approver) texts(effect permission.Effect, at place) (out []string) {
	if !at.keep {
		for _, r := range p.Rules.Rules() {
			if r.Effect == effect && (r.Source.Name == sessionScope || r.Source.Name == hookScope) {
				out = append(out, r.Text)
			}
		}
		return out
	}
	c := p.Settings.Config()
	for _, r := range c.Rules() {
		if r.Action == string(effect) && r.Text != "" && r.Origin.Layer == at.layer && r.Origin.File == c.Target(at.layer) {
			out = append(out, r.Text)
		}
	}
	return out
}

// updateMode changes the mode. A hook cannot leave all questions out.
func (p *Approver) updateMode(m permission.Mode, at place) error {
	if m == permission.Bypass {
		return errors.New("a hook does not choose bypassPermissions")
	}
	if err := p.Set(m); err != nil || !at.keep {
		return err
	}
	return p.Settings.Config().Set("permissions.defaultMode", string(m), at.layer)
}

func (p *Approver) addFolders(dirs []string, at place) (err error) {
	for _, dir := range dirs {
		if real, bad := filepath.EvalSymlinks(p.absolute(dir)); bad == nil && real == filepath.Dir(real) {
			err = errors.Join(err, fmt.Errorf("%s is the whole disk", dir))
			continue
		}
		real, failed := p.Workspace.AddDir(dir)
		if failed == nil && at.keep {
			failed = p.Settings.Config().Append("permissions.additionalDirectories", real, at.layer)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// removeFolders takes folders away. A file may have a folder that the session does not have.
func (p *Approver) removeFolders(dirs []string, at place) (err error) {
	for _, dir := range dirs {
		failed := p.Workspace.RemoveDir(dir)
		if at.keep {
			real, bad := filepath.EvalSymlinks(p.absolute(dir))
			if bad != nil {
				real = p.absolute(dir)
			}
			c := p.Settings.Config()
			if failed = c.Drop("permissions.additionalDirectories", real, at.layer); failed != nil {
				failed = c.Drop("permissions.additionalDirectories", dir, at.layer)
			}
		}
		err = errors.Join(err, failed)
	}
	return err
}

func (p *Approver) absolute(dir string) string {
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(p.Workspace.Dir(), dir)
}
