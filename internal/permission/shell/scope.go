package shell

import (
	"maps"
	"path/filepath"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// scope is the state of the shell at one place of the line, as far as it is known.
type scope struct {
	src     string               // the text that positions of the tree count in
	dirs    []string             // folders that may be the current one, the likeliest first; nil: unknown
	perhaps []string             // guesses at the current folders where dirs is nil
	vars    map[string]binding   // assignments of the line
	args    []string             // $0, $1, ... of a function or nested shell; nil: unknown
	funcs   map[string]*function // functions that the line defines
	aliases map[string]string    // and aliases
	within  string               // the construct around it, for people
	level   int                  // how deep in the tree of parts
	nested  int                  // how many texts within texts
	guess   bool                 // it may not run at all: seen by deny and ask rules only
}

// binding is the value of a variable.
type binding struct {
	text  string
	known bool  // false: text is only the known part
	fixed bool  // it is a name for a text that the line shows
	open  bool  // it holds the output of read-only commands
	turn  *turn // it is the variable of a loop
}

// turn is what the variable of a loop may hold; listed: nothing else.
type turn struct {
	items  []string
	listed bool
}

// function is a body and the text that its positions count in.
type function struct {
	body *syntax.Stmt
	src  string
}

// child is a copy for a subshell: its changes do not reach back.
func (sc *scope) child() *scope {
	c := *sc
	c.vars, c.funcs, c.aliases = maps.Clone(sc.vars), maps.Clone(sc.funcs), maps.Clone(sc.aliases)
	c.dirs = slices.Clip(sc.dirs)
	return &c
}

// own makes sure that there are maps, before something is written or a part shares them.
func (sc *scope) own() {
	if sc.vars == nil {
		sc.vars = map[string]binding{}
	}
	if sc.funcs == nil {
		sc.funcs = map[string]*function{}
	}
	if sc.aliases == nil {
		sc.aliases = map[string]string{}
	}
}

// inside is a child one level deeper.
func (sc *scope) inside(what string) *scope {
	c := sc.child()
	c.within, c.level = what, sc.level+1
	return c
}

// part is one level deeper in the same shell: its changes stay.
func (sc *scope) part(what string) *scope {
	sc.own()
	c := *sc
	c.within, c.level = what, sc.level+1
	return &c
}

func (sc *scope) assign(name string, b binding) {
	sc.own()
	sc.vars[name] = b
}

// turning is a variable of a loop that is used in n, "" for none.
func (sc *scope) turning(n syntax.Node) (name string) {
	if len(sc.vars) == 0 {
		return ""
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil && sc.vars[p.Param.Value].turn != nil {
			name = p.Param.Value
		}
		return name == ""
	})
	return name
}

// unsure marks variables set since before as possibly not set.
func (sc *scope) unsure(before map[string]binding) {
	for name, b := range sc.vars {
		if before[name] != b {
			b.fixed, b.open = false, false
			sc.vars[name] = b
		}
	}
}

// separators are the characters that end words in the result of an expansion.
func (sc *scope) separators() string {
	if ifs, ok := sc.vars["IFS"]; ok {
		return " \t\n" + ifs.text
	}
	return " \t\n"
}

// places are the folders that relative paths may start from: where the current one is not known, the guesses.
func (sc *scope) places() []string {
	if sc.dirs == nil {
		return sc.perhaps
	}
	return sc.dirs
}

// perhapsIn adds folders that the current one may be, should it become unknown.
func (sc *scope) perhapsIn(dirs []string) {
	for _, d := range dirs {
		if !slices.Contains(sc.perhaps, d) && len(sc.perhaps) < 8 {
			sc.perhaps = append(slices.Clip(sc.perhaps), d)
		}
	}
}

// dir is the likeliest current folder, "" when it is unknown.
func (sc *scope) dir() string {
	if len(sc.dirs) == 0 {
		return ""
	}
	return sc.dirs[0]
}

// maybe adds the folders that were possible before: the cd may not have run.
func (sc *scope) maybe(before []string) {
	if sc.dirs == nil || before == nil {
		sc.dirs = nil
		return
	}
	for _, d := range before {
		if !slices.Contains(sc.dirs, d) {
			sc.dirs = append(sc.dirs, d)
		}
	}
	if len(sc.dirs) > 8 {
		sc.dirs = nil
	}
}

// moved reports whether the current folder may be another than start.
func (sc *scope) moved(start string) bool {
	return sc.dirs == nil || slices.ContainsFunc(sc.dirs, func(d string) bool { return d != start })
}

// enter changes the folder to target, an absolute path or one relative to each folder that is possible.
func (sc *scope) enter(target string) {
	if filepath.IsAbs(target) {
		sc.dirs = []string{filepath.Clean(target)}
		return
	}
	next := make([]string, 0, len(sc.dirs))
	for _, d := range sc.dirs {
		next = append(next, filepath.Join(d, target))
	}
	if len(next) == 0 {
		next = nil
	}
	sc.dirs = next
}
