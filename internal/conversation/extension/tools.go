package extension

import (
	"net/http"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
	"github.com/lathe-dev/lathe/internal/tool/websearch"
)

// Configure gives the environment of a session's tools the limits and switches of the settings.
func (f *Folder) Configure(env *tool.Env) {
	set := f.o.Config().Settings
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	env.Shell, env.Profile = set.Bash.Shell, env.Profile.For(set.Bash.Profile)
	env.ChildEnv.Drop, env.ChildEnv.ScrubCredentials = f.o.Config().PrivateVariables(), set.Bash.ScrubCredentials
	env.Limits = tool.Limits{
		BashTimeout: ms(set.Bash.DefaultTimeoutMs), BashMaxTimeout: ms(set.Bash.MaxTimeoutMs),
		BashOutput: set.Bash.MaxOutputLength,
	}
	env.UseSearch(websearch.Options{
		Engine: set.WebSearch.Engine, URL: set.WebSearch.URL, Key: set.WebSearch.APIKey,
		Getenv: func(name string) string { value, _, _ := f.o.Config().Env(name); return value },
		HTTP: func() (*http.Client, error) {
			return llm.HTTPClient(llm.HTTPOptions{
				Proxy: set.Network.Proxy, NoProxy: strings.Join(set.Network.NoProxy, ","),
				CACerts: set.Network.CACerts,
			})
		},
	})
	env.Cache.Configure(set.ExploreCache.Enabled, set.ExploreCache.MaxEntries, ms(set.ExploreCache.DirectoryTTLMs))
}
