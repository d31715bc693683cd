package cli

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/face/port"
)

// editorBuffers are the texts of the editor that is a face of this session process.
type editorBuffers struct{ server atomic.Pointer[port.Server] }

// editorWait is how long an editor may take to answer. After that the file on disk counts.
const editorWait = 5 * time.Second

// Open is as in tool.Buffers.
func (e *editorBuffers) Open() bool {
	s := e.server.Load()
	return s != nil && s.Editor()
}

// Text is as in tool.Buffers.
func (e *editorBuffers) Text(ctx context.Context, path string) (string, bool) {
	var out port.Buffer
	ok := e.ask(ctx, port.MethodBuffer, port.Buffer{Path: path}, &out)
	return out.Text, ok
}

// Save is as in tool.Buffers.
func (e *editorBuffers) Save(ctx context.Context, path, text string) bool {
	return e.ask(ctx, port.MethodSave, port.Buffer{Path: path, Text: text}, nil)
}

func (e *editorBuffers) ask(ctx context.Context, method string, params port.Buffer, result any) bool {
	ctx, cancel := context.WithTimeout(ctx, editorWait)
	defer cancel()
	s := e.server.Load()
	return s != nil && s.Ask(ctx, method, params, result) == nil
}
