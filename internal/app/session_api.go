package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/files"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/sandbox"
	"github.com/lathe-dev/lathe/internal/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// What interactive front ends need besides the turns.

// Config is the configuration in force.
func (i *Instance) Config() *config.Config { return i.conf.Load() }

// Tools are the declarations of the tools there are.
func (i *Instance) Tools() *call.Catalogue { return i.tools }

// Runner starts child processes that end with the instance.
func (i *Instance) Runner() *sandbox.Runner { return i.runner }

// ChildEnv is the environment that commands get: lathe's own with the variables of the settings.
func (i *Instance) ChildEnv() []string { return childEnv(i.environ(), i.settings().Env) }

// Reload reads the settings again and puts them in force; it returns what changed.
func (i *Instance) Reload() ([]config.Change, error) {
	next, changes, err := i.conf.Load().Reload()
	if err != nil {
		return nil, err
	}
	i.reload(next, changes)
	return changes, nil
}

// Log is the record of the conversation; nil when nothing is kept. It is for looking, and for entries that
// no turn writes; Prompt writes the rest.
func (s *Session) Log() *session.Session { return s.log }

// Interactive reports whether somebody answers questions.
func (s *Session) Interactive() bool { return s.interactive }

// Unsteer takes back the newest message that was steered and not delivered.
func (s *Session) Unsteer() (llm.Message, bool) { return s.agent.Unsteer() }

// Effort is how hard the model is to think; "" is its default.
func (s *Session) Effort() llm.Effort {
	_, e := s.agent.Model()
	return e
}

// SetEffort changes the effort from the next step on.
func (s *Session) SetEffort(e llm.Effort) {
	m, _ := s.agent.Model()
	s.agent.SetModel(m, e)
}

// ModelName is the model as it was asked for in this session; "" is the configured one.
func (s *Session) ModelName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// System is the static part of what the model is told.
func (s *Session) System(ctx context.Context) ([]llm.Part, error) { return s.system(ctx) }

// Rules lists the permission rules in force, those given in this session last.
func (s *Session) Rules() []permission.Rule { return s.policy.Rules() }

// Grant puts a rule in force for this session.
func (s *Session) Grant(text string, e permission.Effect) error {
	r, err := permission.ParseRule(s.inst.tools, text, e, permission.Source{Name: sessionScope, Base: s.inst.opts.Dir})
	if err != nil {
		return err
	}
	s.policy.Grant(r)
	s.journalGrant(r.Text, e)
	s.ruled.Add(1)
	return nil
}

// AddDir makes one more folder part of what the session may work in; it returns the folder with links
// resolved.
func (s *Session) AddDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Dir(), dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("the folder cannot be added: %w", err)
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", errors.Join(fmt.Errorf("%s is not a folder", real), err)
	}
	if err := s.env.Roots.Add(real, false); err != nil {
		return "", err
	}
	s.policy.AddRoot(real, false)
	return real, nil
}

// Dirs lists the folders that the session may work in, the first one before all.
func (s *Session) Dirs() []string {
	var out []string
	for _, r := range s.env.Roots.List() {
		if !r.ReadOnly {
			out = append(out, r.Path)
		}
	}
	return out
}

// Ungrant takes a rule of this session back; false when it has none like it.
func (s *Session) Ungrant(text string, e permission.Effect) bool {
	defer s.ruled.Add(1)
	r, err := permission.ParseRule(s.inst.tools, text, e, permission.Source{})
	if err != nil || !s.policy.Ungrant(r.Text, e) {
		return false
	}
	s.journalGrant(r.Text, "")
	return true
}

// FileRoots are the folders that the session works in, for an index of their files.
func (s *Session) FileRoots() *files.Roots { return s.env.Roots }

// Background holds the commands of the session that run beside the conversation.
func (s *Session) Background() *tool.Background { return s.env.Background }
