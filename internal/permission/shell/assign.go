package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// assigned is one assignment before a command or alone.
type assigned struct {
	name, text string
	known      bool
	open       bool // see binding
	show       string
	turn       *turn
}

// assignments expands assignments without making them.
func (a *analysis) assignments(list []*syntax.Assign, sc *scope) []assigned {
	out := make([]assigned, 0, len(list))
	for _, as := range list {
		if as.Index != nil {
			a.saw(oddSubscript, a.source(as, sc))
			a.arithmetic(as.Index, sc)
		}
		got := assigned{show: a.source(as, sc), known: true}
		if as.Name != nil {
			got.name = as.Name.Value
		}
		if as.Value != nil {
			w := a.expandOne(as.Value, sc)
			got.text, got.known, got.open = w.text, !w.unknown, w.open
			a.turns(as.Value, sc, func(sc *scope) {
				a.mute++
				defer func() { a.mute-- }()
				if got.turn == nil {
					got.turn = &turn{listed: w.listed}
				}
				got.turn.items = append(got.turn.items, a.expandOne(as.Value, sc).text)
			})
		}
		if as.Array != nil {
			got.text, got.known = a.array(as.Array, sc)
		}
		if as.Append {
			had, known := a.variable(got.name, sc)
			got.text, got.known, got.open = had+got.text, known && got.known, false
		}
		if as.Index != nil {
			got.known, got.open = false, false
			a.renames(got.name, as.Index, got.text, sc)
		}
		if len(got.text) > maxLine {
			got.text, got.known = got.text[:maxLine], false // a=$a$a, again and again
		}
		out = append(out, got)
	}
	return out
}

// holdsParam reports whether a variable, or arithmetic that may name one, is a part of a word.
func holdsParam(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(part syntax.WordPart) bool {
		if q, ok := part.(*syntax.DblQuoted); ok {
			return holdsParam(&syntax.Word{Parts: q.Parts})
		}
		_, param := part.(*syntax.ParamExp)
		_, sum := part.(*syntax.ArithmExp)
		return param || sum
	})
}

// array is the text of (a b c), words joined by blanks.
func (a *analysis) array(x *syntax.ArrayExpr, sc *scope) (text string, known bool) {
	var texts []string
	known = true
	for _, e := range x.Elems {
		a.arithmetic(e.Index, sc)
		if e.Value == nil {
			continue
		}
		for _, w := range a.expand(e.Value, sc) {
			if w.glob {
				a.spreadFolders(w.text, sc)
			}
			known = known && !w.unknown
			texts = append(texts, w.text)
		}
	}
	return strings.Join(texts, " "), known
}

// notes makes assignments that do nothing but give a name to a text that the line shows, or to the output of read-only
// commands.
func (a *analysis) notes(list []*syntax.Assign, got []assigned, raw string, place int, sc *scope) (ok bool) {
	for i, as := range list {
		if as.Name == nil || as.Array != nil || as.Index != nil || as.Append || !ordinaryName(as.Name.Value) ||
			!got[i].known && (!got[i].open || len(list) > 1) {
			return false
		}
		if strings.ContainsAny(got[i].text, "$`") || len(list) > 1 && as.Value != nil && holdsParam(as.Value) {
			return false // something may evaluate it again, or it refers to a variable that the same command sets
		}
	}
	a.noteAssignments(got, raw, place, sc)
	return true
}

// noteAssignments makes assignments that change nothing but the text of the line's words.
func (a *analysis) noteAssignments(got []assigned, raw string, place int, sc *scope) {
	for _, as := range got {
		sc.assign(as.name, binding{text: as.text, known: as.known, fixed: as.known, open: as.open, turn: as.turn})
	}
	a.noteCall(&call{
		assigns: got, raw: raw, dirs: sc.dirs, within: sc.within, level: sc.level,
		use: program.Use{Class: permission.ClassNeutral},
	})
	a.partAt(place, &permission.Part{Text: raw, Raw: raw, Class: permission.ClassNeutral, Within: sc.within, Exact: true},
		sc)
}

// ordinaryName reports whether no shell and no program looks at a variable of this name.
func ordinaryName(name string) bool {
	return ownName(name) || !among(name, names("steering")...) && !among(name, names("loader variables")...) && !among(name,
		names("path variables")...) &&
		!among(name, names("program variables")...) && !among(name, names("shell variables")...)
}

// ownName reports whether a name is one that scripts give to their own variables: no program looks at it.
func ownName(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// assign makes assignments that stand alone.
func (a *analysis) assign(list []assigned, raw string, place int, sc *scope) {
	for _, as := range list {
		sc.assign(as.name, binding{text: as.text, known: as.known, turn: as.turn})
		a.value(as, sc)
	}
	a.noteCall(&call{assigns: list, raw: raw, dirs: sc.dirs, within: sc.within, level: sc.level})
	a.partAt(place, &permission.Part{
		Text: raw, Raw: raw, Class: permission.ClassWrite, Within: sc.within, Exact: true, Literal: true,
		Reason: "it sets variables",
	}, sc)
}

// value looks at a value that bash may run later: PS4, PROMPT_COMMAND and all that holds a substitution.
func (a *analysis) value(as assigned, sc *scope) {
	switch as.name {
	case "PROMPT_COMMAND", "PAGER", "GIT_PAGER", "MANPAGER", "BAT_PAGER", "GH_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR",
		"GIT_SEQUENCE_EDITOR",
		"GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "BROWSER", "FZF_DEFAULT_COMMAND":
		a.nestedScript(as.text, sc, as.name, nil)
	default:
		a.prompt(as.text, sc, "the value of "+as.name)
	}
}

// plainExport reports whether it is export NAME=value and no more.
func plainExport(c *syntax.DeclClause) bool {
	return c.Variant.Value == "export" && len(c.Args) > 0 && !slices.ContainsFunc(c.Args, func(as *syntax.Assign) bool {
		return as.Name == nil || as.Naked || as.Array != nil || as.Index != nil || as.Append
	})
}

// exports is an export that does no more than an assignment, or that only chooses how output looks.
func (a *analysis) exports(c *syntax.DeclClause, got []assigned, place int, sc *scope) (ok bool) {
	if !onlyLocale(got) {
		return a.notes(c.Args, got, a.source(c, sc), place, sc)
	}
	a.noteAssignments(got, a.source(c, sc), place, sc)
	return true
}

// declare walks export, declare, local, readonly and typeset.
func (a *analysis) declare(c *syntax.DeclClause, sc *scope) (ok bool) {
	raw, place := a.source(c, sc), len(a.parts)
	var list []assigned
	if plainExport(c) {
		list = a.assignments(c.Args, sc)
		if a.exports(c, list, place, sc) {
			return true
		}
	}
	var plain []*syntax.Assign
	words := []word{{text: c.Variant.Value, show: c.Variant.Value}}
	for _, as := range c.Args {
		if as.Name != nil {
			plain = append(plain, as)
			words = append(words, word{text: as.Name.Value, show: a.source(as, sc), worked: as.Value != nil})
			continue
		}
		if as.Value == nil {
			continue
		}
		for _, w := range a.expand(as.Value, sc) {
			words = append(words, w)
			a.prompt(w.text, sc, c.Variant.Value)
			if name, text, ok := strings.Cut(w.text, "="); ok {
				sc.assign(name, binding{text: text, known: !w.unknown})
			}
		}
	}
	for _, w := range words[1:] {
		if len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+') && strings.Contains(w.text, "n") || w.unknown {
			a.loose = true // one name stands for another from here on
		}
	}
	if list == nil {
		list = a.assignments(plain, sc)
	}
	for i, as := range list {
		if !plain[i].Naked {
			sc.assign(as.name, binding{text: as.text, known: as.known, turn: as.turn})
			a.value(as, sc)
		}
	}
	run := &call{
		words: words, assigns: list, raw: raw, name: c.Variant.Value, dirs: sc.dirs, within: sc.within,
		level: sc.level,
	}
	run.use = program.Use{Class: permission.ClassWrite, Reason: "it sets or prints variables"}
	a.noteCall(run)
	text, deep := a.texts(run)
	a.part(permission.Part{
		Text: text, Raw: raw, Deep: deep, Program: run.name, Class: permission.ClassWrite, Within: sc.within,
		Reason: run.use.Reason,
	}, sc)
	a.opaque()
	return false
}

// safeVariable reports whether a variable is one of those that allow rules look through.
func safeVariable(name string) bool {
	return inList("safe variables", name) || (strings.HasPrefix(name, "LC_") && syntax.ValidName(name))
}

// onlyLocale reports whether assignments only choose how output looks, see cosmetic.
func onlyLocale(list []assigned) bool {
	return !slices.ContainsFunc(list, func(as assigned) bool { return !cosmetic(as) })
}

// cosmetic reports whether a variable only chooses how output looks: a language that every system has, LC_ALL=C,
// colours, a width, that nobody watches, that nothing pages.
func cosmetic(as assigned) bool {
	if !as.known || as.show != as.name+"="+as.text {
		return false
	}
	switch {
	case as.name == "LANG", strings.HasPrefix(as.name, "LC_") && safeVariable(as.name):
		return among(as.text, "C", "POSIX", "C.UTF-8", "en_US.UTF-8")
	case among(as.name, "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "CI"):
		return among(as.text, "", "true", "false") || strings.Trim(as.text, "0123456789") == ""
	case among(as.name, "PAGER", "GIT_PAGER", "MANPAGER"):
		return among(as.text, "", "cat")
	case among(as.name, "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT"):
		return as.text == "0"
	}
	return as.name == "TZ" && as.text == "UTC" || as.name == "TERM" && among(as.text, "dumb", "xterm", "xterm-256color")
}
