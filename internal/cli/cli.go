// Package cli is lathe's command line: flags, subcommands, headless output and exit codes.
//
// The words: a prompt run ("lathe -p ...") is one conversation without a terminal; its output format is
// text (the answer and nothing else), json (one result object) or stream-json (one JSON object per line,
// Claude Code's shapes). With --input-format stream-json the other side may send many messages and
// control requests. A subcommand ("lathe session list") is everything else.
//
// Promises:
//
//   - stdout carries the answer, or the machine's lines, and nothing else; messages for people go to
//     stderr, and moving things only when stderr is a terminal. Foreign text is escaped.
//   - Lines of stream-json are whole, in the order of the events, and flushed one by one.
//   - The exit code is 0 when the work is done, 1 when a turn failed (or ran out of steps or budget), 2 for
//     a wrong command line or configuration, 130 after SIGINT and 143 after SIGTERM; see [exitCode].
//   - The first signal ends the turn in order: every call answered, the session complete. The second one
//     ends the process.
//   - Headless output needs only a [Conversation], never the app behind it.
package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// streams are the three standard streams and whether a person sits behind them.
type streams struct {
	in                  io.Reader
	out, err            io.Writer
	inTTY, outTTY, eTTY bool
}

func newStreams(stdin io.Reader, stdout, stderr io.Writer) *streams {
	return &streams{
		in: stdin, out: stdout, err: stderr, inTTY: isTerminal(stdin), outTTY: isTerminal(stdout),
		eTTY: isTerminal(stderr),
	}
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && f != nil && term.IsTerminal(int(f.Fd()))
}

// Main runs lathe with args (args[0] is the program's name) and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	p := newProgram(newStreams(stdin, stdout, stderr))
	p.log = startLog()
	defer p.log.close()
	defer func() {
		if r := recover(); r != nil {
			code = report(p.err, p.log.crashed(r))
		}
	}()
	ctx, stop := withSignals(context.Background(), &p.kids, &p.onInterrupt)
	defer stop()
	err := p.run(ctx, args[1:])
	if e := p.boundaryOpen.Close(); e != nil { // the instance is closed; the next session removes what is left
		p.log.Warn("the temporary folder of the sandbox stays", "error", e)
	}
	if s := signalOf(ctx); s != nil && (err == nil || !errors.Is(err, errBrokenPipe)) {
		err = p.signalled(s, err)
	}
	p.log.failed(err, exitCode(err))
	return report(p.err, err)
}

// signalled is the end by a signal. If there was a turn, a message shows the user how to continue.
func (p *program) signalled(s *signalError, err error) error {
	if e, ok := errors.AsType[*Error](err); ok && p.eTTY && !e.Quiet && e.interrupted {
		e.Code = s.code()
		return e
	}
	return &Error{Code: s.code(), Err: s, Quiet: true}
}

// run decides between a prompt and a subcommand, and runs it.
func (p *program) run(ctx context.Context, args []string) error {
	inv, err := splitArgs(args)
	if err != nil {
		return err
	}
	if inv.doubt != nil && (!p.asks() || !p.confirmPrompt(ctx, inv.doubt)) {
		return inv.doubt
	}
	p.args = inv.args
	root := newRoot(p, inv)
	root.SetArgs(inv.args)
	err = root.ExecuteContext(ctx)
	return cmp.Or(err, p.helpErr)
}
