package extension

import (
	"time"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Configure gives the environment of a session's tools the limits and switches of the settings.
func (f *Folder) Configure(env *tool.Env) {
	set := f.o.Config().Settings
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	env.Shell, env.Profile = set.Bash.Shell, env.Profile.For(set.Bash.Profile)
	env.ChildEnv.Drop, env.ChildEnv.ScrubCredentials = hosts.Secrets(), set.Bash.ScrubCredentials
	env.Limits = tool.Limits{BashTimeout: ms(set.Bash.DefaultTimeoutMs), BashMaxTimeout: ms(set.Bash.MaxTimeoutMs), BashOutput: set.Bash.MaxOutputLength}
	env.Cache.Configure(set.ExploreCache.Enabled, set.ExploreCache.MaxEntries, ms(set.ExploreCache.DirectoryTTLMs))
}
