package app

import (
	"cmp"
	"context"

	"github.com/lathe-dev/lathe/internal/extension"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/style"
)

// Extensions are the skills, commands and output styles from files.
func (i *Instance) Extensions() *extension.Folder { return i.extensions }

// Style is the output style that this conversation began with.
func (s *Session) Style() string { return cmp.Or(s.begun.Style, style.Default) }

// addContext adds to a message of the user what it names: files and skills.
func (s *Session) addContext(ctx context.Context, m llm.Message) llm.Message {
	return s.skills.Message(ctx, s.attached.Attach(ctx, m))
}
