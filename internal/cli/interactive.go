package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	xterm "golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/console"
	"github.com/lathe-dev/lathe/internal/ui/repl"
	"github.com/lathe-dev/lathe/internal/ui/tui"
)

// interactive reports whether a user converses: on a terminal, without a flag that asks for one answer.
// --plain converses also through pipes.
func (p *program) interactive(o *Options) bool {
	if o.Print || o.InputFormat != "text" || o.OutputFormat != "text" || o.JSONSchema != "" {
		return false
	}
	return o.Plain || p.inTTY && p.outTTY
}

// dumb reports a terminal that understands no escape sequences.
func dumb() bool {
	t := os.Getenv("TERM")
	return t == "dumb" || t == "" && runtime.GOOS != "windows"
}

// converse opens the conversation and the front end that fits the terminal.
func (p *program) converse(ctx context.Context, o *Options, words []string) error {
	if p.hasProcess(o) {
		return p.beside(ctx, o, words)
	}
	o.patient = true
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	note := ""
	c, err := p.console(ctx, o, inst, true)
	if errors.Is(err, conversation.ErrNoKey) && p.inTTY && p.outTTY {
		note, err = p.setUp(ctx, o)
		if err = errors.Join(inst.Close(), err); err != nil {
			return startError(err)
		}
		if inst, err = p.instance(o); err != nil {
			return err
		}
		c, err = p.console(ctx, o, inst, true)
	}
	if j, ok := liveJob(err); ok {
		return errors.Join(inst.Close(), p.goOnLive(ctx, o, j, words))
	}
	if err != nil {
		return errors.Join(startError(err), inst.Close())
	}
	text := strings.TrimSpace(strings.Join(words, " "))
	err = p.front(ctx, o, c, inst, text, note)
	id := c.Farewell()
	err = errors.Join(err, c.Close(), inst.Close())
	if id != "" && !o.NoPersistence && p.outTTY {
		fmt.Fprintf(p.out, "Go on with: lathe --resume %s\n", id)
	}
	return err
}

// console opens the session that the options ask for.
func (p *program) console(ctx context.Context, o *Options, inst *conversation.Instance, interactive bool) (
	*console.Console, error,
) {
	so := conversation.SessionOptions{ID: o.SessionID, Fork: o.Fork, Interactive: interactive}
	so.Goal, so.Again = o.goal(), o.Worker != ""
	if err := chooseSession(ctx, inst, o, &so); err != nil {
		return nil, err
	}
	v, _ := currentVersion()
	p.log.start(p.args)
	c, err := console.Open(ctx, console.Options{
		Browse: func(ctx context.Context, address string) {
			if env := inst.ChildEnv(); canBrowse(env) {
				browse(ctx, inst, env, address)
			}
		},
		Instance: inst, Session: so, Version: v, Doctor: p.doctorText(o), Forget: o.NoPersistence,
		Job:     o.Worker,
		Themes:  looksOf(inst).names,
		History: p.history(o), KeepModel: o.Model != "" || inst.Config().Origin("model").Layer == config.Environment,
		KeepMode: o.Mode != "" || o.Bypass,
	})
	if err == nil && o.Name != "" {
		if _, err := c.Command(ctx, port.Command{Name: "rename", Args: o.Name}); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, err
}

// firstHistory is how many events of a resumed conversation the terminal interface shows before it is scrolled.
const firstHistory = 1000

// history limits the events of a resumed conversation, where the front end can load the earlier ones.
func (p *program) history(o *Options) int {
	if o.Plain || dumb() {
		return 0
	}
	return firstHistory
}

// doctorText is the report of lathe doctor, for /doctor.
func (p *program) doctorText(o *Options) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		plain := *p.streams
		plain.outTTY = false // no colours
		d := &doctor{p: &program{streams: &plain, now: p.now, uuid: p.uuid, log: p.log}, o: o, inside: p.outTTY}
		d.examine(ctx)
		return d.text(), nil
	}
}

// front shows the conversation until the user leaves.
func (p *program) front(ctx context.Context, o *Options, c *console.Console, inst *conversation.Instance,
	text, note string,
) error {
	var first llm.Message
	if text != "" {
		first = llm.UserText(text)
	}
	if o.Plain || dumb() {
		return p.plain(ctx, o, c, first)
	}
	to := p.screenOptions(o, inst.Config(), looksOf(inst))
	to.Initial, to.Note = first, note // in plain lines, the note stays in view
	_, err := tui.Run(ctx, c, c.Events(), to)
	if errors.Is(err, tui.ErrGone) {
		return &Error{Code: exitHangup, Err: err, Quiet: true}
	}
	return err
}

// screenOptions are the options of the terminal interface for a session.
func (p *program) screenOptions(o *Options, cfg *config.Config, l *looks) tui.Options {
	to := p.tuiOptions(cfg, l)
	to.Inline = o.Inline || to.Inline
	to.Login = func(ctx context.Context) (string, error) {
		outcome, err := p.askProvider(ctx, o, "Who should answer? (ctrl+d goes back)")
		if errors.Is(err, conversation.ErrNoKey) {
			return "", errors.New("nothing was changed")
		}
		return outcome, err
	}
	if o.ResumePick {
		to.Command = "resume"
	}
	return to
}

// tuiOptions are the options of the terminal interface that follow from the settings.
func (p *program) tuiOptions(cfg *config.Config, l *looks) tui.Options {
	set := cfg.Settings
	v, _ := currentVersion()
	to := tui.Options{
		Look: l.now(), Inline: set.TUI == "inline", Mouse: set.Mouse, Follow: l.now, Version: v,
		Notifications: channels[set.PreferredNotifChannel], ReducedMotion: set.PrefersReducedMotion, Sidebar: set.Sidebar,
	}
	to.In, _ = p.in.(*os.File)
	to.Out, _ = p.out.(*os.File)
	return to
}

// channels are Claude Code's names of the ways to notify, in the terminal's words.
var channels = map[string]string{
	"auto": "auto", "iterm2": "osc9", "iterm2_with_bell": "osc9", "terminal_bell": "bell", "kitty": "osc99",
	"ghostty":                "osc777",
	"notifications_disabled": "off",
}

// themeName takes Claude Code's names of themes too.
func themeName(name string) string {
	switch name {
	case "dark-daltonized", "light-daltonized":
		return "colour-blind"
	case "dark-ansi", "light-ansi":
		return "ansi"
	}
	return name
}

// plain opens the plain front end.
func (p *program) plain(ctx context.Context, o *Options, c *console.Console, first llm.Message) error {
	interrupts := make(chan struct{}, 4)
	hit := func() {
		select {
		case interrupts <- struct{}{}:
		default:
		}
	}
	tty := p.inTTY && p.outTTY
	if tty {
		p.onInterrupt.Store(&hit)
		defer p.onInterrupt.Store(nil)
	}
	ro := p.replOptions()
	ro.Interrupt, ro.Initial, ro.Close = interrupts, first, c.Close
	if o.ResumePick {
		ro.Command = "resume"
	}
	return repl.Run(ctx, c, c.Events(), ro)
}

// replOptions are the options of the plain front end that follow from the streams.
func (p *program) replOptions() repl.Options {
	tty := p.inTTY && p.outTTY
	v, _ := currentVersion()
	return repl.Options{
		In: p.in, Out: p.out, Err: p.err, Terminal: tty, Editor: tty && !dumb(), Spinner: p.eTTY && !dumb(),
		Colour: p.outTTY && !dumb() && os.Getenv("NO_COLOR") == "", Width: p.width, Version: v, Raw: p.raw,
	}
}

// raw puts the terminal into raw mode.
func (p *program) raw() (func() error, error) {
	f, ok := p.in.(*os.File)
	if !ok {
		return nil, errors.New("the input is not a terminal")
	}
	old, err := xterm.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("the terminal cannot be used for editing lines: %w; try TERM=dumb", err)
	}
	return func() error { return xterm.Restore(int(f.Fd()), old) }, nil
}
