package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// loop walks for and select. The variable stands for each item in turn, so that checks see all of them; the
// script is written out turn by turn.
func (a *analysis) loop(c *syntax.ForClause, sc *scope) (script string, ok bool) {
	if l, ok := c.Loop.(*syntax.CStyleLoop); ok {
		if script, done := a.counted(c, sc); done {
			return script, true
		}
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			a.saw(oddArithmetic, "for (( ))")
			a.arithmetic(x, sc)
		}
		a.opaque()
		a.branch(c.Do, sc)
		return "", false
	}
	l, _ := c.Loop.(*syntax.WordIter)
	if l == nil {
		return "", false
	}
	items, ok := a.items(l, sc)
	if names, known := a.knownItems(items, c.Select); known {
		items = names
	}
	if len(items) == 1 && items[0].unknown && items[0].code != "" && items[0].before+items[0].after == "" && !c.Select {
		turn := binding{text: items[0].text, list: items[0].list}
		body, good := a.eachName([]string{l.Name.Value}, turn, c.Do, sc)
		return "for " + turnName(l.Name.Value) + " in " + items[0].code + "; do " + body + "; done", good
	}
	var turns []string
	for _, item := range items {
		if a.inline++; a.inline > maxInline {
			a.saw(oddTooMuch, "turns of a loop")
			a.opaque()
			break
		}
		sc.assign(l.Name.Value, binding{text: item.text, known: !item.unknown, turn: item.literal() && !c.Select})
		text, good := a.turn(c.Do, item.literal() && !c.Select, sc)
		ok = ok && good && item.literal()
		turns = append(turns, "{ "+text+"; }")
	}
	if len(turns) == 0 {
		sc.assign(l.Name.Value, binding{})
		a.branch(c.Do, sc)
		ok = false
	}
	sc.assign(l.Name.Value, binding{text: sc.vars[l.Name.Value].text})
	return group(turns), ok && !c.Select && ownName(l.Name.Value)
}

// knownItems are the names of a loop over the words of a small file: for f in $(cat list). The safe form has the names
// in place of the command, so it is supposed that there is one.
func (a *analysis) knownItems(items []word, choice bool) (names []word, known bool) {
	if len(items) != 1 || choice || a.mute > 0 || !items[0].bare || items[0].before+items[0].after != "" ||
		items[0].list == nil || len(items[0].list.calls) != 1 {
		return nil, false
	}
	c := items[0].list.calls[0]
	if c.name != "cat" || c.gap == nil || c.gap.file == "" {
		return nil, false
	}
	text, ok := a.fileText(c.gap.file)
	if !ok || strings.ContainsAny(text, "\x00\r*?[\\\"'") || !a.supposes() {
		return nil, false
	}
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n", r) }) {
		names = append(names, word{text: name, show: name})
	}
	return names, len(names) > 0 && len(names) <= maxInline
}

// turn walks the body of a loop for one item. Where the item is known the body runs for certain, and what it sets stays
// set.
func (a *analysis) turn(body []*syntax.Stmt, certain bool, sc *scope) (script string, ok bool) {
	if !certain {
		return a.branch(body, sc)
	}
	script, ok = a.list(body, sc)
	return script, ok && len(body) > 0
}

// items are the values of a loop's variable, patterns as the files that match now.
func (a *analysis) items(l *syntax.WordIter, sc *scope) (items []word, ok bool) {
	ok = true
	for _, w := range a.words(l.Items, sc) {
		if !w.glob {
			items = append(items, w)
			continue
		}
		if len(sc.dirs) != 1 {
			return append(items, w), false
		}
		names, good := a.spreadNames(w, sc.dirs[0])
		ok = ok && good
		a.spreadFolders(w.text, sc)
		for _, name := range names {
			items = append(items, word{text: name, show: name})
		}
	}
	return items, ok
}
