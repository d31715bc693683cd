package conversation

import (
	"cmp"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/schedule"
	"github.com/lathe-dev/lathe/internal/tool"
	"github.com/lathe-dev/lathe/internal/tool/websearch"
)

// newEnv makes the environment that the session's tools share.
func (s *Session) newEnv() (*tool.Env, error) {
	i := s.inst
	if s.parent != nil {
		env, err := s.parent.env.Clone().At(s.tree.At())
		if err != nil {
			return nil, err
		}
		env.Owner = strings.Join(s.chain, "\n")
		s.closers = append(s.closers, func() error { return env.Leave(s.parent.env) })
		keepBlobs(env, s.Log())
		return env, nil
	}
	env, err := tool.NewEnv(i.opts.Dir)
	if err != nil {
		return nil, err
	}
	env.Runner, env.Boundary, env.Secrets, env.Roots.Seen = i.runner, i.opts.Boundary, i.secrets, i.opts.Boundary.Seen
	s.closers = append(s.closers, env.Background.Close)
	env.Environ, env.Journals, env.Lasting = func() []string { return s.hooks.Overlay(i.ChildEnv()) },
		checkpoint.JournalDir(i.projectDir()), i.paths.CacheHome
	env.Language, env.More, env.Mail = i.Code.Pool(), s.teamTools, s.teamMail
	env.Peers, env.Buffers = i.opts.Peers, i.opts.Buffers
	if i.opts.Push != nil {
		env.Push = func(ctx context.Context, text string) error { return i.opts.Push(ctx, s.ID(), text) }
	}
	i.configure(env)
	if log := s.Log(); log != nil && s.schedules {
		env.Schedules = schedule.At(filepath.Join(log.Folder(), schedule.FileName))
	}
	keepBlobs(env, s.Log())
	return env, nil
}

// configure gives the environment of a session's tools the limits and switches of the settings.
func (i *Instance) configure(env *tool.Env) {
	set := i.settings()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	env.Shell, env.Profile = set.Bash.Shell, env.Profile.For(set.Bash.Profile)
	env.ChildEnv.Drop, env.ChildEnv.ScrubCredentials = i.conf.Load().PrivateVariables(), set.Bash.ScrubCredentials
	env.Limits = tool.Limits{
		BashTimeout: ms(set.Bash.DefaultTimeoutMs), BashMaxTimeout: ms(set.Bash.MaxTimeoutMs),
		BashOutput: set.Bash.MaxOutputLength,
	}
	env.UseSearch(websearch.Options{
		Engine: set.WebSearch.Engine, URL: set.WebSearch.URL, Key: set.WebSearch.APIKey,
		Getenv: func(name string) string { value, _, _ := i.conf.Load().Env(name); return value },
		HTTP: func() (*http.Client, error) {
			return llm.HTTPClient(llm.HTTPOptions{
				Proxy: set.Network.Proxy, NoProxy: strings.Join(set.Network.NoProxy, ","),
				CACerts: set.Network.CACerts,
			})
		},
	})
	env.Cache.Configure(set.ExploreCache.Enabled, set.ExploreCache.MaxEntries, ms(set.ExploreCache.DirectoryTTLMs))
}

// crons are the prompts that are sent later, for hooks.
func (s *Session) crons() []hook.Cron {
	out := []hook.Cron{}
	if s.env.Schedules == nil {
		return out
	}
	all, err := s.env.Schedules.List()
	if err != nil {
		s.warn(err.Error())
	}
	for _, x := range all {
		out = append(out, hook.Cron{
			ID: x.ID, Schedule: cmp.Or(x.Cron, x.Due.Format(time.RFC3339)), Recurring: !x.Once, Prompt: x.Prompt,
		})
	}
	return out
}
