package editor

import "github.com/lathe-dev/lathe/internal/ui/tui/keys"

// killRing has the cut texts, the newest last.
type killRing struct {
	cuts    []string
	joining bool // the last action cut, so the next cut is added to it
	yanked  bool // the last action inserted cuts[at]
	at      int
	from    pos // where that was inserted
}

const maxCuts = 30

func (k *killRing) add(s string, before bool) {
	if s == "" {
		return
	}
	if last := len(k.cuts) - 1; k.joining && last >= 0 {
		if before {
			k.cuts[last] = s + k.cuts[last]
		} else {
			k.cuts[last] += s
		}
		return
	}
	k.cuts = append(k.cuts, s)
	if len(k.cuts) > maxCuts {
		k.cuts = k.cuts[1:]
	}
}

// remove does the actions that delete or cut; false: they are not those, or the prompt is empty.
func (e *Editor) remove(a keys.Action) bool {
	b := &e.buf
	from, to := b.cursor, b.cursor
	kind, cut := other, true
	switch a {
	case keys.DeleteBack:
		from, kind, cut = b.previous(to), erasing, false
	case keys.DeleteForward:
		to, cut = b.next(from), false
	case keys.DeleteWordBack:
		from = b.wordLeft(to)
	case keys.DeleteWordForward:
		to = b.wordRight(from)
	case keys.KillLineStart:
		from = pos{to.line, 0}
		if from == to {
			from = b.previous(to)
		}
	case keys.KillLineEnd:
		to = pos{from.line, len(b.lines[from.line].text)}
		if from == to {
			to = b.next(from)
		}
	case keys.ClearInput:
		from, to = pos{}, b.end()
	default:
		return false
	}
	if b.empty() {
		return e.leaveMode(a)
	}
	if from == to {
		return true
	}
	if cut {
		e.kills.add(b.text(from, to), to == b.cursor)
	}
	e.apply(from, to, "", kind)
	e.kills.joining = cut
	return true
}

// leaveMode goes back to writing a message when there is nothing to delete.
func (e *Editor) leaveMode(a keys.Action) bool {
	if e.mode == Prompt || a == keys.DeleteForward || a == keys.DeleteWordForward || a == keys.KillLineEnd {
		return false
	}
	e.setMode(Prompt)
	return true
}

func (e *Editor) yank() {
	k := &e.kills
	if len(k.cuts) == 0 {
		return
	}
	k.at, k.from = len(k.cuts)-1, e.buf.cursor
	e.apply(k.from, k.from, k.cuts[k.at], other)
	k.yanked = true
}

// yankPop replaces the inserted text by the one that was cut before it.
func (e *Editor) yankPop() bool {
	k := &e.kills
	if !k.yanked || len(k.cuts) == 0 {
		return false
	}
	k.at = (k.at + len(k.cuts) - 1) % len(k.cuts)
	e.apply(k.from, e.buf.cursor, k.cuts[k.at], other)
	k.yanked = true
	return true
}

// settle keeps cut texts usable when the chips in them go.
func (k *killRing) settle(render func(string) string) {
	for i, s := range k.cuts {
		k.cuts[i] = clean(render(s))
		if len(k.cuts[i]) > maxPlain {
			k.cuts[i] = ""
		}
	}
	k.joining, k.yanked = false, false
}
