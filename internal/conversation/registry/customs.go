package registry

import (
	"context"

	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Customs is the source of the programs that are tools.
func Customs(set *customtool.Set, env *tool.Env, session string) Source {
	return Source{
		Version: set.Version, Notes: set.Notes, Retry: set.Retry,
		Tools: func(ctx context.Context) (out []Offer) {
			for _, t := range set.Tools(ctx, customtool.Seat{Place: env.Here, Session: session}) {
				out = append(out, Offer{Tool: t.Tool, Origin: t.Origin, Sent: t.Always})
			}
			return out
		},
	}
}
