package editor

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// draft is a whole prompt, chips and all.
type draft struct {
	mode   Kind
	text   string
	chips  map[int]*chip
	cursor pos
	raw    bool // text is as it was kept, with the mode's sign in front
}

// history goes through earlier prompts.
type history struct {
	gen     uint64 // of the question for them; 0: not asked
	loaded  bool
	waiting bool // the user wants to go back as soon as they are there
	older   []draft
	at      int   // 1 is the newest; 0: not in the history
	draft   draft // the unsent text
}

const (
	historyLimit = 1000
	findLimit    = 2 * completions // matches of a search that are asked for
	// keptWhole is how many prompts of this process keep their chips.
	keptWhole = 20
)

func (e *Editor) current() draft {
	return draft{mode: e.mode, text: e.buf.all(), chips: e.chips, cursor: e.buf.cursor}
}

// back goes to the prompt before.
func (e *Editor) back() ([]Out, bool) {
	h := &e.history
	if !h.loaded {
		h.waiting = true
		if h.gen != 0 {
			return nil, true
		}
		e.gen++
		h.gen = e.gen
		return []Out{Ask{e.gen, event.Query{Kind: event.QueryHistory, Limit: historyLimit}}}, true
	}
	if h.at >= len(h.older) {
		return nil, false
	}
	if h.at == 0 {
		h.draft = e.current()
	}
	h.at++
	e.show(e.older(h.at), pos{0, 1 << 30})
	return nil, true
}

// forward goes to the prompt after, and at last to the unsent text.
func (e *Editor) forward() bool {
	h := &e.history
	if h.at == 0 {
		return false
	}
	h.at--
	if h.at == 0 {
		e.show(h.draft, h.draft.cursor)
	} else {
		e.show(e.older(h.at), pos{1 << 30, 1 << 30})
	}
	return true
}

// older is the n-th newest prompt.
func (e *Editor) older(n int) draft {
	d := &e.history.older[n-1]
	if d.raw {
		*d = e.draftOf(d.text)
	}
	return *d
}

// show puts a draft into the editor. It is a step of undo.
func (e *Editor) show(d draft, cursor pos) {
	for id, c := range d.chips {
		if e.chips == nil {
			e.chips = map[int]*chip{}
		}
		e.chips[id] = c
	}
	e.setMode(d.mode)
	e.apply(pos{}, e.buf.end(), d.text, other)
	e.buf.cursor = e.buf.snap(cursor)
	e.popup = popup{}
}

func (e *Editor) historyCame(found []event.Candidate) []Out {
	h := &e.history
	h.gen, h.loaded = 0, true
	for _, c := range found {
		if n := len(h.older); n == 0 || h.older[n-1].text != c.Text {
			h.older = append(h.older, draft{text: c.Text, raw: true})
		}
	}
	if !h.waiting {
		return nil
	}
	h.waiting = false
	outs, _ := e.back()
	return outs
}

// remember puts a sent prompt before the older ones.
func (h *history) remember(d draft) {
	h.at, h.draft, h.waiting = 0, draft{}, false
	if d.text == "" || len(h.older) > 0 && h.older[0].text == d.text && h.older[0].mode == d.mode &&
		chipWithin(d.text) < 0 {
		return
	}
	h.older = append([]draft{d}, h.older...)
	if len(h.older) > historyLimit {
		h.older = h.older[:historyLimit]
	}
	if len(h.older) > keptWhole {
		h.older[keptWhole].flatten()
	}
}

// flatten gives up the chips: long pastes become their labels.
func (d *draft) flatten() {
	e := Editor{chips: d.chips}
	d.text = e.render(d.text, func(c *chip) string {
		if c.image == nil && len(c.text) <= maxPlain/20 {
			return clean(c.text)
		}
		return c.label
	})
	d.chips = nil
}

// kept is a prompt as it is kept among the earlier ones: with the mode's sign in front.
func kept(mode Kind, text string) string {
	switch {
	case mode == Shell:
		return "!" + text
	case mode == Memory:
		return "#" + text
	case strings.HasPrefix(text, "!") || strings.HasPrefix(text, "#"):
		return " " + text // it is a message, and must not become a command when it comes back
	}
	return text
}

// draftOf reads a text with the mode's sign in front.
func (e *Editor) draftOf(s string) draft {
	d := draft{text: s}
	switch {
	case strings.HasPrefix(s, "!"):
		d.mode, d.text = Shell, s[1:]
	case strings.HasPrefix(s, "#"):
		d.mode, d.text = Memory, s[1:]
	}
	if len(d.text) > maxPlain {
		before := len(e.chips)
		d.text = e.fold(d.text)
		if len(e.chips) > before {
			id := chipID(d.text)
			d.chips = map[int]*chip{id: e.chips[id]}
		}
		return d
	}
	d.text = clean(d.text)
	return d
}

// finder is the search of earlier prompts.
type finder struct {
	query    string
	gen      uint64
	items    []event.Candidate
	selected int
	top      int
}

func (f *finder) came(found []event.Candidate) { f.items, f.selected, f.top = found, 0, 0 }

func (f *finder) choose(by int) {
	if n := len(f.items); n > 0 {
		f.selected = min(max(f.selected+by, 0), n-1)
	}
}

// search asks for the prompts that match.
func (e *Editor) search() []Out {
	e.gen++
	e.find.gen = e.gen
	return []Out{Ask{e.gen, event.Query{Kind: event.QueryHistory, Text: e.find.query, Limit: findLimit}}}
}

// found puts the chosen earlier prompt into the editor.
func (e *Editor) found() {
	f := e.find
	e.find = nil
	if f.selected < len(f.items) {
		e.show(e.draftOf(f.items[f.selected].Text), pos{1 << 30, 1 << 30})
	}
}
