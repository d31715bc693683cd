package conversation

import (
	"context"

	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// keepBlobs lets the tools keep long texts in the session's log; a nil log keeps none.
func keepBlobs(env *tool.Env, log *session.Session) {
	if log == nil {
		return
	}
	env.Blob = log.Blob
	env.NewBlob = func(ctx context.Context, name string) (tool.BlobWriter, error) { return log.BlobWriter(ctx, name) }
	env.InContext, env.Ago = log.InContext, log.Ago
}
