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
	perhaps []string             // the current folders if the unknown words of a cd are empty
	last    string               // where cd - goes; "": unknown
	stack   []string             // where popd goes, the last one first
	sure    bool                 // the change of the folder that last and stack come from did not fail
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
	known bool   // false: text is only the known part
	turn  bool   // it is the variable of a loop, in one turn of it, or a name for a text that the line shows
	code  string // for a script: the variable that holds the output of a read-only command, or a line of it
	list  *nameList
	array *array // its members, where they are known
}

// array is the members of an array variable.
type array struct{ members []string }

// function is a body and the text that its positions count in.
type function struct {
	body *syntax.Stmt
	src  string
}

// child is a copy for a subshell: its changes do not reach back.
func (sc *scope) child() *scope {
	c := sc.copy()
	c.vars, c.funcs, c.aliases = copied(sc.vars), copied(sc.funcs), copied(sc.aliases)
	c.dirs = slices.Clip(sc.dirs)
	return c
}

func (sc *scope) copy() *scope {
	c := *sc
	return &c
}

// copied is a copy of a map, nil for an empty one: most lines define nothing.
func copied[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
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
	c := sc.copy()
	c.within, c.level = what, sc.level+1
	return c
}

func (sc *scope) assign(name string, b binding) {
	sc.own()
	sc.vars[name] = b
}

// unsure marks variables set since before as possibly not set: a script keeps them as written.
func (sc *scope) unsure(before map[string]binding) {
	for name, b := range sc.vars {
		if b.turn && before[name] != b {
			b.turn, b.code, b.list, b.array = false, "", nil, nil
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

// dir is the likeliest current folder, "" when it is unknown.
func (sc *scope) dir() string {
	if len(sc.dirs) == 0 {
		return ""
	}
	return sc.dirs[0]
}

// maybe adds the folders that were possible before: the cd may not have run.
func (sc *scope) maybe(before []string) {
	if !sameDirs(before, sc.dirs) {
		sc.forget(before)
	}
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

// forget drops where cd - and popd go, unless that is the only folder that was possible before: they go there, or the
// shell never left it.
func (sc *scope) forget(before []string) {
	sc.sure = false
	if len(before) == 1 && sc.last == before[0] && (len(sc.stack) == 0 || len(sc.stack) == 1 && sc.stack[0] == sc.last) {
		return
	}
	sc.last, sc.stack = "", nil
}

// moved reports whether the current folder may be another than start.
func (sc *scope) moved(start string) bool {
	if sc.dirs == nil {
		return true
	}
	for _, d := range sc.dirs {
		if d != start {
			return true
		}
	}
	return false
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
