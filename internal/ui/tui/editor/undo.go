package editor

// edit is one replacement with the data to undo it.
type edit struct {
	at                pos
	removed, inserted string
	before, after     pos // the cursor
	mode, modeAfter   Kind
	sort              sort
}

// sort is the kind of an edit: typing continues the same step of undo.
type sort int

const (
	other   sort = iota
	typing       // characters one by one
	erasing      // backspace one by one
)

// The limits of undo.
const (
	maxUndo      = 2000
	maxUndoBytes = 8 << 20
)

// undo is the history of edits. Each step is a list, because some actions make several edits.
type undo struct {
	done, undone [][]edit
	bytes        int
	open         bool // the last step may grow
}

// add records an edit.
func (u *undo) add(x edit) {
	u.undone = nil
	u.bytes += len(x.removed) + len(x.inserted)
	last := len(u.done) - 1
	if u.open && last >= 0 && u.joins(u.done[last], x) {
		u.done[last] = append(u.done[last], x)
	} else {
		u.done = append(u.done, []edit{x})
	}
	u.open = x.sort != other
	for len(u.done) > maxUndo || u.bytes > maxUndoBytes && len(u.done) > 1 {
		for _, e := range u.done[0] {
			u.bytes -= len(e.removed) + len(e.inserted)
		}
		u.done = u.done[1:]
	}
}

// joins reports whether an edit belongs to the step before it: words are steps.
func (u *undo) joins(step []edit, x edit) bool {
	last := step[len(step)-1]
	if last.sort != x.sort || last.after != x.before || last.modeAfter != x.mode {
		return false
	}
	return x.sort != typing || !(blank(last.inserted) && !blank(x.inserted)) && x.inserted != "\n" && last.inserted != "\n"
}

func blank(s string) bool { return s == " " || s == "\t" }

// apply makes an edit and records it.
func (e *Editor) apply(from, to pos, s string, kind sort) {
	x := edit{
		at: from, removed: e.buf.text(from, to), inserted: s, before: e.buf.cursor, mode: e.mode, modeAfter: e.mode,
		sort: kind,
	}
	e.buf.replace(from, to, s)
	x.after = e.buf.cursor
	e.undo.add(x)
	e.touched()
}

// setMode changes the mode; it can be undone.
func (e *Editor) setMode(k Kind) {
	if k == e.mode {
		return
	}
	c := e.buf.cursor
	e.undo.add(edit{at: c, before: c, after: c, mode: e.mode, modeAfter: k})
	e.mode = k
}

func (e *Editor) undoStep() bool {
	u := &e.undo
	if len(u.done) == 0 {
		return false
	}
	step := u.done[len(u.done)-1]
	u.done, u.undone, u.open = u.done[:len(u.done)-1], append(u.undone, step), false
	for i := len(step) - 1; i >= 0; i-- {
		x := step[i]
		e.buf.replace(x.at, x.at.after(x.inserted), x.removed)
		e.buf.cursor, e.mode = x.before, x.mode
		u.bytes -= len(x.removed) + len(x.inserted)
	}
	e.touched()
	return true
}

func (e *Editor) redoStep() bool {
	u := &e.undo
	if len(u.undone) == 0 {
		return false
	}
	step := u.undone[len(u.undone)-1]
	u.undone, u.done, u.open = u.undone[:len(u.undone)-1], append(u.done, step), false
	for _, x := range step {
		e.buf.replace(x.at, x.at.after(x.removed), x.inserted)
		e.buf.cursor, e.mode = x.after, x.modeAfter
		u.bytes += len(x.removed) + len(x.inserted)
	}
	e.touched()
	return true
}
