package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
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
	warnings    []string // about the settings and the catalogue, for the machine formats
	lines       *lineWriter
	helpErr     error // why --help could not be printed

	catalogueSaid bool // a warning about the user's catalogue was printed
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

// warning prints a warning from before the first turn. The machine formats have it as a message too.
func (p *program) warning(text string) {
	p.warnings = append(p.warnings, text)
	fmt.Fprintf(p.err, "%s: warning: %s\n", messagesName, escape(text))
}

// warnOfCatalogue prints once why the user's catalogue of models has no effect. A model was looked up before: the file
// is read then.
func (p *program) warnOfCatalogue() {
	if err := llm.CatalogueFault(); err != nil && !p.catalogueSaid {
		p.catalogueSaid = true
		p.warning(err.Error() + "; " + llm.CatalogueRemedy)
	}
}
