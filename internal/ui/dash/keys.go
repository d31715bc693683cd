package dash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// key handles a key.
func (d *dash) key(k uv.KeyPressEvent) error {
	stroke := keys.Stroke(k)
	ending := d.ending
	d.note, d.ending = "", ""
	if d.edit(stroke) {
		return nil
	}
	switch {
	case stroke == "ctrl+c", stroke == "ctrl+d" && d.text == "":
		d.left = true
	case stroke == "esc" || stroke == "left" && d.text == "":
		d.back()
	case stroke == "enter":
		return d.enter()
	case d.scrolled(stroke):
	case d.doing != starting:
		d.typed(k)
	case stroke == "right" && d.text == "":
		return d.attachChosen()
	case stroke == "space" && d.text == "":
		d.look()
	case stroke == "ctrl+x":
		d.end(ending)
	default:
		d.act(stroke, k)
	}
	return nil
}

// edit changes the text.
func (d *dash) edit(stroke string) bool {
	switch stroke {
	case "backspace":
		r := []rune(d.text)
		d.text = string(r[:max(len(r)-1, 0)])
	case "ctrl+u":
		d.text = ""
	case "ctrl+w":
		d.text = d.text[:strings.LastIndexByte(strings.TrimRight(d.text, " "), ' ')+1]
	default:
		return false
	}
	d.refilter()
	return true
}

func (d *dash) typed(k uv.KeyPressEvent) {
	d.text += k.Text
	d.refilter()
}

// refilter shows what the filter lets through while it is typed.
func (d *dash) refilter() {
	if d.doing == filtering {
		d.filter = d.text
		d.read()
	}
}

// back leaves what is open, from the inside.
func (d *dash) back() {
	switch {
	case d.doing != starting || d.text != "":
		if d.doing == filtering {
			d.filter = ""
		}
		d.doing, d.text = starting, ""
	case d.peek != nil:
		d.peek = nil
	default:
		d.filter = ""
	}
	d.read()
}

func (d *dash) scrolled(stroke string) bool {
	by, ok := map[string]int{"up": -1, "down": 1, "pgup": -(d.h - 4), "pgdown": d.h - 4}[stroke]
	switch {
	case !ok:
		return false
	case d.peek != nil:
		d.peek.top += by
	default:
		d.move(by)
	}
	return true
}

// act does what a key of the list is for; any other is text.
func (d *dash) act(stroke string, k uv.KeyPressEvent) {
	j, ok := d.job()
	switch {
	case stroke == "ctrl+f":
		d.peek, d.doing, d.text = nil, filtering, d.filter
	case stroke == "ctrl+t" && ok:
		d.pin(j.ID)
		d.read()
	case stroke == "ctrl+r" && ok:
		d.doing, d.text = renaming, j.Name
	default:
		d.typed(k)
	}
}

// enter does what the line at the bottom says.
func (d *dash) enter() error {
	text := strings.TrimSpace(d.text)
	j, ok := d.job()
	switch {
	case d.doing == filtering:
		d.doing, d.text = starting, ""
	case d.doing == renaming:
		d.doing, d.text = starting, ""
		if ok && text != "" {
			d.try("renamed", func(ctx context.Context) error { return d.rename(ctx, j.ID, text) })
		}
	case text == "":
		return d.attachChosen()
	case d.peek != nil:
		d.reply(text)
	default:
		d.start(text)
	}
	return nil
}

func (d *dash) attachChosen() error {
	if j, ok := d.job(); ok {
		return d.attach(j.ID)
	}
	return nil
}

func (d *dash) rename(ctx context.Context, id, name string) error {
	c, err := d.o.Dial(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Command(ctx, port.Command{Name: "rename", Args: name})
	return err
}

// end stops the chosen session; one that was just stopped is removed.
func (d *dash) end(ending string) {
	j, ok := d.job()
	if !ok {
		return
	}
	if ending == j.ID {
		d.peek = nil
		d.try("removed; its session is kept", func(ctx context.Context) error {
			c, err := d.o.Supervisor(ctx)
			if err != nil {
				return err
			}
			defer c.Close()
			return c.Remove(ctx, j.ID)
		})
		return
	}
	d.try("stopped; ctrl+x again takes it off the list", func(ctx context.Context) error {
		c, err := d.o.Supervisor(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Stop(ctx, j.ID)
		return err
	})
	d.ending = j.ID
}

// start begins a session with the text.
func (d *dash) start(text string) {
	dir, prompt, err := d.place(text)
	if err != nil {
		d.note = err.Error()
		return
	}
	d.text = ""
	d.beside(func(ctx context.Context) func(*dash) {
		j, err := d.o.Start(ctx, dir, prompt)
		return func(d *dash) {
			if err != nil {
				d.note, d.text = err.Error(), text
				return
			}
			d.chosen = j.ID
			d.read()
		}
	})
}

// place separates the folder that a prompt begins with (@folder): a path, or the name of a folder that a session works
// in.
func (d *dash) place(text string) (dir, prompt string, err error) {
	name, ok := strings.CutPrefix(text, "@")
	if !ok {
		return d.o.Dir, text, nil
	}
	name, prompt, _ = strings.Cut(name, " ")
	if prompt = strings.TrimSpace(prompt); prompt == "" {
		return "", "", fmt.Errorf("say what to do in @%s", name)
	}
	for _, j := range d.jobs {
		if filepath.Base(j.CWD) == name {
			return j.CWD, prompt, nil
		}
	}
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		dir = filepath.Join(d.o.Home, name[1:])
	case filepath.IsAbs(name):
		dir = name
	default:
		dir = filepath.Join(d.o.Dir, name)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", "", fmt.Errorf("there is no folder %s", dir)
	}
	return dir, prompt, nil
}
