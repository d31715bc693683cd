// Package dash is the screen of all sessions of the machine.
//
// The words: a row is a job of the supervisor, in one of three groups: those that need an answer, those that work, and
// those that are done. A peek is a look into one of them: its open question, or what it said last. The line at the
// bottom takes the answer, a prompt, or the task of a new session.
//
// How it works: one loop owns the model and takes keys and results; the list is read from the files of the jobs. What
// may wait (a process, git, gh) runs beside the loop and hands its result over as a change of the model.
//
// Promises: the screen shows within a second what the files say. A question is answered here only after all of it was
// shown. Nothing foreign reaches the terminal unescaped.
package dash

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/ui/tui"
)

// Options connect the screen with the sessions.
type Options struct {
	Terminal tui.Options
	Place    supervisor.Place
	Dir      string // where new sessions work, unless the prompt names a folder
	Home     string
	Pins     string // the file of the pinned sessions

	Supervisor func(context.Context) (*supervisor.Client, error)
	// Dial connects to a session, whose process is started if it has none.
	Dial func(ctx context.Context, id string) (*port.Client, error)
	// Attach shows a session in the terminal until the user leaves it.
	Attach func(ctx context.Context, id string) error
	// Start begins a session.
	Start func(ctx context.Context, dir, prompt string) (supervisor.Job, error)
	// Last is what a session said last.
	Last func(j supervisor.Job) (string, error)
	// PullRequest is that of the branch in a folder, with its checks, in a few words; "" is none. nil: not known.
	PullRequest func(ctx context.Context, dir string) string
}

// How often the files of the jobs are read, and pull requests looked up.
const (
	readEvery = 500 * time.Millisecond
	prEvery   = time.Minute
)

// dash is the screen while it runs.
type dash struct {
	*model
	o       Options
	ctx     context.Context
	canvas  *tui.Canvas
	changes chan func(*dash)

	focused, focusTold bool // as the terminal reports it
	typedAt            time.Time
}

// Run shows the screen until the user leaves it.
func Run(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	canvas, err := tui.OpenCanvas(o.Terminal)
	if err != nil {
		return err
	}
	d := &dash{model: newModel(), o: o, ctx: ctx, canvas: canvas, changes: make(chan func(*dash))}
	d.pins = readPins(o.Pins)
	defer func() {
		if d.canvas != nil {
			d.canvas.Close()
		}
	}()
	return d.loop()
}

func (d *dash) loop() error {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	d.read()
	for !d.left {
		d.show()
		select {
		case <-d.ctx.Done():
			return context.Cause(d.ctx)
		case change := <-d.changes:
			change(d)
		case <-tick.C:
			d.read()
		case <-d.canvas.Wake():
			if err := d.input(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *dash) input() error {
	events, err := d.canvas.Input()
	if err != nil {
		return err
	}
	for _, e := range events {
		switch e := e.(type) {
		case uv.FocusEvent:
			d.focused, d.focusTold = true, true
		case uv.BlurEvent:
			d.focused, d.focusTold = false, true
		case uv.KeyPressEvent:
			d.typedAt = time.Now()
			if err := d.key(e); err != nil {
				return err
			}
		case uv.PasteEvent:
			d.text += flat(e.Content)
		}
	}
	return nil
}

func (d *dash) show() {
	d.w, d.h = d.canvas.Size()
	d.theme, d.now = d.canvas.Theme, time.Now()
	lines, x, y := d.draw()
	d.canvas.Show(lines, x, y)
}

// beside runs f beside the loop, which then makes the change that f returns.
func (d *dash) beside(f func(context.Context) func(*dash)) {
	go func() {
		change := f(d.ctx)
		if change == nil {
			return
		}
		select {
		case d.changes <- change:
		case <-d.ctx.Done():
		}
	}()
}

// try is beside for something that only fails or does not.
func (d *dash) try(done string, f func(context.Context) error) {
	d.beside(func(ctx context.Context) func(*dash) {
		err := f(ctx)
		return func(d *dash) {
			if d.note = done; err != nil {
				d.note = err.Error()
			}
			d.read()
		}
	})
}

// read reads the files of the jobs.
func (d *dash) read() {
	if d.reading {
		return
	}
	d.reading = true
	d.beside(func(context.Context) func(*dash) {
		jobs, err := d.o.Place.List()
		return func(d *dash) {
			d.reading = false
			for _, text := range d.take(jobs, err) {
				if !d.watched() {
					d.canvas.Notify(d.o.Terminal.Notifications, text)
				}
			}
			d.follow()
			d.askPulls()
		}
	})
}

// absent is how long a user without a key looks elsewhere, in a terminal that does not report the focus.
const absent = 15 * time.Second

// watched reports that the user is likely to look at the screen.
func (d *dash) watched() bool {
	if d.focusTold {
		return d.focused
	}
	return time.Since(d.typedAt) < absent
}

// askPulls looks up the pull requests of folders, from time to time.
func (d *dash) askPulls() {
	if d.o.PullRequest == nil {
		return
	}
	for _, j := range d.jobs {
		p := d.pulls[j.CWD]
		if time.Since(p.asked) < prEvery {
			continue
		}
		d.pulls[j.CWD] = pull{p.text, time.Now()}
		d.beside(func(ctx context.Context) func(*dash) {
			text := d.o.PullRequest(ctx, j.CWD)
			return func(d *dash) { d.pulls[j.CWD] = pull{text, time.Now()} }
		})
	}
}

// attach gives the terminal to a session until the user leaves that.
func (d *dash) attach(id string) error {
	next, err := tui.Suspended(d.ctx, d.canvas, d.o.Terminal, func(ctx context.Context) error {
		return d.o.Attach(ctx, id)
	})
	if d.canvas = next; next == nil {
		return err
	}
	if d.note = ""; err != nil {
		d.note = err.Error()
	}
	d.peek = nil
	d.read()
	return nil
}

func readPins(path string) map[string]bool {
	pins := map[string]bool{}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &pins)
	}
	if err != nil || pins == nil { // none yet, or a damaged file, which the next pin replaces
		return map[string]bool{}
	}
	return pins
}

// pin pins a session, or takes its pin away.
func (d *dash) pin(id string) {
	if d.pins[id] {
		delete(d.pins, id)
	} else {
		d.pins[id] = true
	}
	b, err := json.Marshal(d.pins)
	if err = errors.Join(err, atomicfile.Write(d.o.Pins, b, 0o600)); err != nil {
		d.note = err.Error()
	}
}
