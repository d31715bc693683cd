package conversation

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/extend/style"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

// Extensions are the skills, commands and output styles from files.
func (i *Instance) Extensions() *extension.Folder { return i.extensions }

// Notes is the store of the project's notes; nil: none are kept.
func (i *Instance) Notes() *memory.Store {
	if !i.settings().AutoMemoryEnabled || i.opts.Bare || i.projectDir() == "" {
		return nil
	}
	return memory.Open(filepath.Join(i.projectDir(), "memory"))
}

// Style is the output style that this conversation began with.
func (s *Session) Style() string { return cmp.Or(s.begun.Style, style.Default) }

// addContext adds the files and skills that a user message names.
func (s *Session) addContext(ctx context.Context, m llm.Message) llm.Message {
	m = s.kind.First(ctx, s.skills.Message(ctx, s.servers.Attach(ctx, s.attached.Attach(ctx, m))), s.Messages(),
		s.skills.Preload)
	return s.recall.Notes(ctx, s.Messages(), m)
}
