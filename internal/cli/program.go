package cli

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/boundary"
)

// program is shared by all commands: the streams, and the parts that tests replace.
type program struct {
	*streams
	open      opener
	now       func() time.Time
	uuid      func() string
	stdinWait time.Duration
	kids      children

	boundaryOpen *boundary.Boundary // of the instance; nil: no sandbox

	onInterrupt atomic.Pointer[func()] // handles SIGINT while it is set
	log         *journal
	args        []string // of the command line, as split, for the log
	warnings    []string // about the settings, for the machine formats
	lines       *lineWriter
	helpErr     error // why --help could not be printed
}

// jsonLines writes the lines of the machine formats.
func (p *program) jsonLines() *lineWriter {
	if p.lines == nil {
		p.lines = &lineWriter{w: p.out, uuid: p.uuid}
	}
	return p.lines
}

// opener makes or resumes the conversation that the options ask for.
type opener func(ctx context.Context, o *Options) (Conversation, error)

func newProgram(io *streams) *program {
	p := &program{streams: io, now: time.Now, uuid: uuid.NewString, stdinWait: stdinNotice, log: newJournal("", "off")}
	p.open = p.openLocal
	return p
}
