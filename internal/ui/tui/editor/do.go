package editor

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// Do does an action. handled is false when the action is not the editor's, or there is nothing to do (delete
// in an empty prompt, go back from the oldest prompt): the caller may try the next one.
func (e *Editor) Do(a keys.Action) (outs []Out, handled bool) {
	defer func() { // a cut goes on only when the action before was a cut, too
		e.kills.joining = e.kills.joining && cuts(a)
		e.kills.yanked = e.kills.yanked && (a == keys.Yank || a == keys.YankPop)
	}()
	if e.find != nil {
		return e.doFind(a)
	}
	if outs, handled = e.doPopup(a); handled {
		return outs, true
	}
	switch {
	case e.move(a):
		return e.refresh(false), true
	case a == keys.HistoryBack || a == keys.HistoryForward:
		return e.doVertical(a)
	case e.remove(a):
		if a == keys.ClearInput {
			e.history.at, e.history.draft = 0, draft{}
		}
		return e.refresh(true), true
	}
	return e.doOther(a)
}

func cuts(a keys.Action) bool {
	switch a {
	case keys.DeleteWordBack, keys.DeleteWordForward, keys.KillLineStart, keys.KillLineEnd:
		return true
	}
	return false
}

func (e *Editor) doPopup(a keys.Action) ([]Out, bool) {
	switch a {
	case keys.CompleteAccept:
		return e.accept()
	case keys.CompletePrevious:
		return nil, e.popup.choose(-1)
	case keys.CompleteNext:
		return nil, e.popup.choose(1)
	case keys.CompleteDismiss:
		open := e.popup.open()
		e.popup.dismissed = open
		return nil, open
	case keys.Complete:
		return e.complete()
	}
	return nil, false
}

func (e *Editor) doVertical(a keys.Action) ([]Out, bool) {
	if a == keys.HistoryBack {
		if e.vertical(-1) {
			return e.refresh(false), true
		}
		return e.back()
	}
	if e.vertical(1) {
		return e.refresh(false), true
	}
	return nil, e.forward()
}

func (e *Editor) doOther(a keys.Action) ([]Out, bool) {
	switch a {
	case keys.Submit, keys.Queue:
		return e.submit(a), true
	case keys.Newline:
		e.apply(e.buf.cursor, e.buf.cursor, "\n", other)
		return e.refresh(true), true
	case keys.Undo:
		return e.refresh(false), e.undoStep()
	case keys.Redo:
		return e.refresh(false), e.redoStep()
	case keys.Yank:
		e.yank()
		return e.refresh(true), true
	case keys.YankPop:
		return nil, e.yankPop()
	case keys.Unfold:
		return e.unfold()
	case keys.Stash:
		return e.doStash()
	case keys.ExternalEditor:
		return []Out{OpenEditor{e.visible()}}, true
	case keys.HistoryFind:
		e.find = &finder{}
		return e.search(), true
	case keys.Cancel:
		if e.mode != Prompt && e.buf.empty() {
			e.setMode(Prompt)
			return nil, true
		}
	}
	return nil, false
}

// visible is the text with chips as their labels, and with the mode's sign.
func (e *Editor) visible() string {
	s := e.render(e.buf.all(), func(c *chip) string { return c.label })
	switch e.mode {
	case Shell:
		return "!" + s
	case Memory:
		return "#" + s
	}
	return s
}

// doFind handles actions while searching. Everything that moves takes the match into the prompt first.
func (e *Editor) doFind(a keys.Action) ([]Out, bool) {
	f := e.find
	switch a {
	case keys.FindNext, keys.HistoryFind:
		f.choose(1)
	case keys.FindPrevious:
		f.choose(-1)
	case keys.FindCancel, keys.Interrupt:
		e.find = nil
	case keys.FindAccept:
		e.found()
	case keys.FindExecute:
		e.found()
		return e.submit(keys.Submit), true
	case keys.DeleteBack, keys.DeleteWordBack, keys.KillLineStart:
		if f.query == "" {
			e.find = nil
			return nil, true
		}
		q := newBuffer(f.query)
		from := pos{}
		if a == keys.DeleteBack {
			from = q.previous(q.end())
		} else if a == keys.DeleteWordBack {
			from = q.wordLeft(q.end())
		}
		f.query = f.query[:from.col]
		return e.search(), true
	case keys.Left, keys.Right, keys.WordLeft, keys.WordRight, keys.LineStart, keys.LineEnd:
		e.found()
		return e.Do(a)
	default:
		return nil, false
	}
	return nil, true
}

// doStash sets the prompt aside, or brings it back.
func (e *Editor) doStash() ([]Out, bool) {
	if !e.Empty() {
		d := e.current()
		e.stash = &d
		e.Reset()
		return []Out{Notice{"The prompt is set aside. The same key brings it back, and so does sending another one."}}, true
	}
	return nil, e.unstash()
}

func (e *Editor) unstash() bool {
	if e.stash == nil {
		return false
	}
	d := *e.stash
	e.stash = nil
	e.show(d, d.cursor)
	return true
}

// submit sends the prompt, or makes of a backslash at the cursor a new line.
func (e *Editor) submit(a keys.Action) []Out {
	if p := &e.popup; p.open() && p.late && !p.moved && e.enterWaits == nil { // twice: now
		e.enterWaits = &a // the shown completions are for an older text
		return nil
	}
	take, send := e.enter()
	var outs []Out
	if take {
		outs, _ = e.accept()
	}
	if !send {
		return outs
	}
	if before := e.buf.lines[e.buf.cursor.line].text[:e.buf.cursor.col]; strings.HasSuffix(before, `\`) && !take {
		from := e.buf.previous(e.buf.cursor)
		e.apply(from, e.buf.cursor, "\n", other)
		return e.refresh(true)
	}
	if e.blank() {
		return nil
	}
	if label := e.firstLoading(); label != "" {
		e.waiting = &a
		return []Out{Notice{"This is sent as soon as " + label + " is read."}}
	}
	return []Out{e.send(a == keys.Queue)}
}

func (e *Editor) firstLoading() string {
	label := ""
	e.each(e.buf.all(), func(_ int, c *chip) {
		if c.loading() && label == "" {
			label = c.label
		}
	})
	return label
}

// sendWaiting sends a prompt that waited for its images.
func (e *Editor) sendWaiting() []Out {
	if e.waiting == nil || e.firstLoading() != "" {
		return nil
	}
	return []Out{e.send(*e.waiting == keys.Queue)}
}

// send empties the editor into a Submit.
func (e *Editor) send(queue bool) Submit {
	s := Submit{Kind: e.mode, Queue: queue, Text: trimmed(e.render(e.buf.all(), (*chip).expanded))}
	s.History = kept(e.mode, s.Text)
	switch e.mode {
	case Shell, Memory:
		s.Text = strings.TrimSpace(s.Text)
	default:
		s.Message = e.message()
		if short := trimmed(e.render(e.buf.all(), func(c *chip) string { return c.label })); short != s.Text {
			s.Short = short
		}
		name, args, _ := strings.Cut(strings.TrimPrefix(s.Text, "/"), " ")
		name, more, lines := strings.Cut(name, "\n")
		if lines {
			args = more + " " + args
		}
		if strings.HasPrefix(s.Text, "/") && commandName(name) {
			s.Kind, s.Name, s.Args = Command, name, strings.TrimSpace(args)
		}
	}
	if len(s.Message.Parts) == 0 {
		s.Message = llm.Message{}
	}
	sent := e.current()
	e.Reset()
	e.history.remember(sent)
	e.unstash()
	return s
}
