package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
)

// input is the standard input of a command, as far as the line shows it.
type input struct {
	text  string
	known bool
	any   bool     // there is some: a pipe, a file, a here-document
	upto  []member // of the pipe that feeds it
	scope *scope   // of upto
}

// list walks statements that run one after the other. ok: the shell adds nothing to them that their words do not show.
func (a *analysis) list(stmts []*syntax.Stmt, sc *scope) (ok bool) {
	ok = true
	for _, s := range stmts {
		before := sc.dirs
		ok = a.stmt(s, sc, input{}) && ok
		if !sameDirs(before, sc.dirs) && !a.certain(s, sc) {
			sc.maybe(before)
		}
	}
	return ok
}

func sameDirs(a, b []string) bool {
	return (a == nil) == (b == nil) && slices.Equal(a, b)
}

// certain reports whether a change of folder cannot have failed: it stands alone and the folder is there.
func (a *analysis) certain(s *syntax.Stmt, sc *scope) bool {
	return simple(s) && len(sc.dirs) == 1 && a.world.Stat(sc.dirs[0]).Kind == permission.Folder
}

// stmt walks one statement.
func (a *analysis) stmt(s *syntax.Stmt, sc *scope, in input) (ok bool) {
	if _, long := s.Cmd.(*syntax.BinaryCmd); !long {
		// A list of any length is no nesting: its members are all looked at.
		if a.depth++; a.depth > maxLevel {
			a.depth--
			a.saw(oddTooMuch, "commands within commands")
			a.opaque()
			a.scan(a.source(s, sc), sc)
			return false
		}
		defer func() { a.depth-- }()
	}
	plain, writes := a.redirections(s, sc, &in)
	if s.Background || s.Coprocess || s.Disown {
		a.saw(oddBackground, "")
		sc, plain = sc.child(), false
	}
	return a.command(s, sc, in, writes) && plain
}

// command walks the command of a statement. writes: a redirection writes what the command prints into a file.
func (a *analysis) command(s *syntax.Stmt, sc *scope, in input, writes bool) (ok bool) {
	switch c := s.Cmd.(type) {
	case nil:
		a.bareRedirect(s, sc)
		return false
	case *syntax.CallExpr:
		return a.call(c, sc, in, writes)
	case *syntax.BinaryCmd:
		return a.binary(c, sc, in)
	case *syntax.Subshell:
		return a.list(c.Stmts, sc.inside("( )")) && len(c.Stmts) > 0
	case *syntax.Block:
		return a.list(c.Stmts, sc) && len(c.Stmts) > 0
	case *syntax.TimeClause:
		return c.Stmt != nil && a.stmt(c.Stmt, sc, in)
	case *syntax.IfClause:
		return a.ifs(c, sc)
	case *syntax.ForClause:
		return a.loop(c, sc)
	case *syntax.TestClause:
		if a.compares(s, c.X, sc) {
			return true
		}
	case *syntax.DeclClause:
		if a.declare(c, sc) {
			return true
		}
	default:
		a.compound(s, sc)
	}
	a.saw(oddControl, "")
	a.raise(permission.ClassWrite)
	return false
}

// compound walks commands of which it is not known what they run, or that evaluate something.
func (a *analysis) compound(s *syntax.Stmt, sc *scope) {
	a.opaque()
	switch c := s.Cmd.(type) {
	case *syntax.WhileClause:
		a.branch(c.Cond, sc)
		a.branch(c.Do, sc)
	case *syntax.CaseClause:
		a.expandOne(c.Word, sc)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				a.look(p, sc)
			}
			a.branch(item.Stmts, sc)
		}
	case *syntax.FuncDecl:
		a.define(c, sc)
	case *syntax.ArithmCmd:
		a.evaluate(s, sc, "(( ))")
		a.arithmetic(c.X, sc)
	case *syntax.LetClause:
		a.evaluate(s, sc, "let")
		for _, x := range c.Exprs {
			a.arithmetic(x, sc)
		}
	case *syntax.CoprocClause:
		a.saw(oddCoproc, a.source(c, sc))
		a.stmt(c.Stmt, sc.inside("coproc"), input{})
		// bash takes a word for a name only before a compound command, else for the program, and the words
		// before the program for assignments.
		a.nestedScript(cut(sc.src, c.Coproc.Offset()+uint(len("coproc")), c.End().Offset()), sc, "coproc", nil)
	case *syntax.TestDecl:
		a.stmt(c.Body, sc.inside("@test"), input{})
	}
}

// member is one statement of a list or pipe, with the operator before it.
type member struct {
	op   syntax.BinCmdOperator
	stmt *syntax.Stmt
}

// flatten lists the members of a && b || c or of a | b | c, which the tree nests to the left, however many.
func flatten(c *syntax.BinaryCmd) []member {
	var members []member
	pipe := c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	for {
		members = append(members, member{c.Op, c.Y})
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		same := ok && pipe == (left.Op == syntax.Pipe || left.Op == syntax.PipeAll)
		if !same || c.X.Negated || c.X.Background || len(c.X.Redirs) > 0 {
			break
		}
		c = left
	}
	members = append(members, member{0, c.X})
	slices.Reverse(members)
	return members
}

// binary walks a && b, a || b and pipes.
func (a *analysis) binary(c *syntax.BinaryCmd, sc *scope, in input) (ok bool) {
	members := flatten(c)
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		return a.pipe(members, sc, in)
	}
	ok = true
	before, vars := sc.dirs, map[string]binding(nil)
	for _, m := range members {
		was := vars
		if m.op == syntax.OrStmt {
			// What comes after || runs where nothing changed the folder, too, and those before it may not have run.
			sc.maybe(before)
			sc.unsure(vars)
			was = maps.Clone(sc.vars)
		}
		ok = a.stmt(m.stmt, sc, in) && ok
		switch m.op {
		case syntax.OrStmt:
			sc.maybe(before)
			sc.unsure(was)
		case 0:
			vars = maps.Clone(sc.vars) // variables that the first one sets stay set
		}
	}
	sc.unsure(vars)
	return ok
}

// pipe walks a | b | c, each in a shell of its own.
func (a *analysis) pipe(members []member, sc *scope, in input) (ok bool) {
	ok = true
	for i, m := range members {
		if i > 0 {
			in = input{any: true, scope: sc, upto: members[:i]}
		}
		ok = a.stmt(m.stmt, sc.child(), in) && ok
		if i+1 < len(members) && members[i+1].op == syntax.PipeAll {
			ok = ok && simple(m.stmt)
		}
	}
	return ok
}

// simple reports whether a statement is a simple command.
func simple(s *syntax.Stmt) bool {
	_, ok := s.Cmd.(*syntax.CallExpr)
	return ok
}

// branch walks statements that may run or not.
func (a *analysis) branch(stmts []*syntax.Stmt, sc *scope) (ok bool) {
	before, vars := sc.dirs, maps.Clone(sc.vars)
	ok = a.list(stmts, sc)
	sc.maybe(before)
	sc.unsure(vars)
	return ok && len(stmts) > 0
}

// ifs walks if, its elifs and its else.
func (a *analysis) ifs(c *syntax.IfClause, sc *scope) (ok bool) {
	for ok = true; c != nil; c = c.Else {
		if len(c.Cond) > 0 {
			ok = a.branch(c.Cond, sc) && ok
		}
		ok = a.branch(c.Then, sc) && ok
	}
	return ok
}

// loop walks for and select: the body once, with a variable that may be any of the items.
func (a *analysis) loop(c *syntax.ForClause, sc *scope) (ok bool) {
	l, _ := c.Loop.(*syntax.WordIter)
	if l == nil {
		if l, ok := c.Loop.(*syntax.CStyleLoop); ok {
			a.saw(oddArithmetic, "for (( ))")
			for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
				a.arithmetic(x, sc)
			}
		}
		a.opaque()
		a.branch(c.Do, sc)
		return false
	}
	ok = !c.Select && len(l.Items) > 0
	turn := &turn{listed: true}
	for _, w := range a.words(l.Items, sc) {
		ok = ok && w.literal()
		names := []string{w.text}
		if w.glob {
			a.spreadFolders(w.text, sc)
			if found, _ := a.world.Glob(strings.TrimSuffix(w.text, "/"), sc.dir(), maxGlob); len(found) > 0 {
				names = found
			}
		}
		turn.items, turn.listed = append(turn.items, names...), turn.listed && !w.unknown
	}
	if len(turn.items) > maxInline {
		a.saw(oddTooMuch, "turns of a loop")
		a.opaque()
		turn.items = turn.items[:maxInline]
	}
	text := first(turn.items)
	sc.assign(l.Name.Value, binding{text: text, turn: turn})
	ok = a.branch(c.Do, sc) && ok && ownName(l.Name.Value)
	sc.assign(l.Name.Value, binding{text: text})
	return ok
}

// turns calls f once for each value that the variables of loops may have in n, with that value. What f notes is a
// guess.
func (a *analysis) turns(n syntax.Node, sc *scope, f func(sc *scope)) {
	name := sc.turning(n)
	if name == "" || a.mute > 0 {
		return
	}
	for _, item := range sc.vars[name].turn.items {
		if a.inline++; a.inline > 10*maxInline {
			a.saw(oddTooMuch, "turns of a loop")
			a.opaque()
			return
		}
		inner := sc.inside("a turn of a loop")
		inner.guess = true
		inner.assign(name, binding{text: item, known: true, fixed: true})
		if inner.turning(n) != "" {
			a.turns(n, inner, f)
		} else {
			f(inner)
		}
		sc.perhapsIn(inner.dirs)
	}
}

// define notes a function and walks its body once, as if it were called without arguments.
func (a *analysis) define(c *syntax.FuncDecl, sc *scope) {
	names := c.Names
	if c.Name != nil {
		names = append(names[:len(names):len(names)], c.Name)
	}
	sc.own()
	for _, name := range names {
		a.saw(oddFunction, name.Value)
		a.forkBomb(name.Value, c.Body)
		sc.funcs[name.Value] = &function{body: c.Body, src: sc.src}
		a.part(permission.Part{
			Text: name.Value + "()", Raw: a.source(c, sc), Class: permission.ClassWrite, Within: sc.within,
			Reason: "it defines a function",
		}, sc)
	}
	inner := sc.inside("function")
	inner.args = nil
	a.stmt(c.Body, inner, input{})
}

// arithmetic walks an expression: names in it are evaluated again by bash, subscripts run substitutions.
func (a *analysis) arithmetic(x syntax.ArithmExpr, sc *scope) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		text := a.look(x, sc)
		if value, ok := sc.vars[text]; ok {
			a.prompt(value.text, sc, "(( ))")
		}
		a.prompt(text, sc, "(( ))")
	case *syntax.BinaryArithm:
		a.arithmetic(x.X, sc)
		a.arithmetic(x.Y, sc)
	case *syntax.UnaryArithm:
		a.arithmetic(x.X, sc)
	case *syntax.ParenArithm:
		a.arithmetic(x.X, sc)
	case *syntax.FlagsArithm:
		a.arithmetic(x.X, sc)
	}
}

// test walks [[ ]] for the commands in it.
func (a *analysis) test(x syntax.TestExpr, sc *scope) {
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			a.prompt(a.look(w, sc), sc, "[[ ]]")
			return false
		}
		return true
	})
}

// compares walks [[ ]] that only looks at files and compares texts, as test would. ok is false, and nothing was noted,
// where it may evaluate a number or a name.
func (a *analysis) compares(s *syntax.Stmt, x syntax.TestExpr, sc *scope) (ok bool) {
	tests, ok := comparisons(x)
	if !ok {
		a.opaque()
		a.evaluate(s, sc, "[[ ]]")
		a.test(x, sc)
		return false
	}
	for _, t := range tests {
		words := []word{{text: "test", show: "test"}}
		for _, w := range t {
			w := a.expandOne(w, sc)
			w.glob = false // [[ ]] spreads no pattern
			words = append(words, w)
		}
		ok = a.run(&call{words: words, raw: a.source(s.Cmd, sc)}, sc) && ok
	}
	return ok
}

// comparisons are the words of the tests in [[ ]]; ok is false where one is not plain.
func comparisons(x syntax.TestExpr) (tests [][]*syntax.Word, ok bool) {
	op := func(text string) *syntax.Word {
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
	}
	switch x := x.(type) {
	case *syntax.ParenTest:
		return comparisons(x.X)
	case *syntax.Word:
		return [][]*syntax.Word{{op("-n"), x}}, plainText(x) || variableName(x) != ""
	case *syntax.UnaryTest:
		w, ok := x.X.(*syntax.Word)
		switch {
		case x.Op == syntax.TsNot:
			return comparisons(x.X)
		case !ok || !strings.Contains(" -e -f -d -r -w -x -s -L -p -S -b -c -n -z ", " "+x.Op.String()+" "):
			return nil, false
		}
		empty := x.Op == syntax.TsEmpStr || x.Op == syntax.TsNempStr
		plain := plainText(w) || empty && (variableName(w) != "" || onlySubst(w))
		return [][]*syntax.Word{{op(x.Op.String()), w}}, plain
	case *syntax.BinaryTest:
		if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
			left, okLeft := comparisons(x.X)
			right, okRight := comparisons(x.Y)
			return append(left, right...), okLeft && okRight
		}
		l, okLeft := x.X.(*syntax.Word)
		r, okRight := x.Y.(*syntax.Word)
		if !okLeft || !okRight || !among(x.Op.String(), "==", "=", "!=") {
			return nil, false
		}
		name := variableName(l)
		ok := plainText(l) || name != "" && ownName(name) || onlySubst(l)
		return [][]*syntax.Word{{l, op("="), r}}, ok && plainText(r)
	}
	return nil, false
}

// plainText reports whether nothing in a word is expanded.
func plainText(w *syntax.Word) bool {
	plain := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
			plain = false
		}
		return plain
	})
	return plain
}

// onlySubst reports whether a word is one $( ), in quotes or not.
func onlySubst(w *syntax.Word) bool {
	parts := w.Parts
	if q, ok := parts[0].(*syntax.DblQuoted); ok && len(parts) == 1 {
		parts = q.Parts
	}
	if len(parts) != 1 {
		return false
	}
	_, ok := parts[0].(*syntax.CmdSubst)
	return ok
}

// variableName is the name in a word that is $name and nothing else, in quotes or not; "" for other words.
func variableName(w *syntax.Word) string {
	parts := w.Parts
	if q, ok := parts[0].(*syntax.DblQuoted); ok && len(parts) == 1 {
		parts = q.Parts
	}
	if len(parts) != 1 {
		return ""
	}
	if p, ok := parts[0].(*syntax.ParamExp); ok && p.Param != nil && plainParam(p) && !p.Excl && !p.Length &&
		syntax.ValidName(p.Param.Value) {
		return p.Param.Value
	}
	return ""
}

// evaluate notes a compound command that changes or evaluates variables.
func (a *analysis) evaluate(s *syntax.Stmt, sc *scope, what string) {
	raw := a.source(s.Cmd, sc)
	a.part(permission.Part{
		Text: raw, Raw: raw, Class: permission.ClassWrite, Within: sc.within,
		Reason: what + " may evaluate what stands in a variable",
	}, sc)
	a.saw(oddArithmetic, raw)
}

// substitution walks $( ). The text is a guess at its output; open: its commands are read-only.
func (a *analysis) substitution(c *syntax.CmdSubst, sc *scope) (text string, known, open bool) {
	if a.mute == 0 {
		from, source, within := len(a.parts), a.source(c, sc), "$( )"
		if c.Backquotes {
			within = "` `"
		}
		broken := c.Backquotes && strings.Contains(source, "\\\n") && len(source) > 2
		if broken {
			// What bash reads there is the text without one level of backslashes.
			a.nestedScript(inBackquotes.Replace(source[1:len(source)-1]), sc, within, sc.args)
			a.opaque()
		}
		if open = a.list(c.Stmts, sc.inside(within)) && a.looked(from) && !broken; !open {
			a.saw(oddSubst, source)
		}
	}
	text, known = a.output(c.Stmts, sc)
	return strings.TrimRight(text, "\n"), known, open
}

var inBackquotes = strings.NewReplacer(`\\`, `\`, "\\`", "`", `\$`, "$")

// processSubstitution walks <( ) and >( ). open: it is <( ) and its commands are read-only.
func (a *analysis) processSubstitution(p *syntax.ProcSubst, sc *scope) (open bool) {
	if a.mute > 0 {
		return false
	}
	if p.Op == syntax.CmdInTemp {
		a.saw(oddZsh, "=( )")
	}
	from := len(a.parts)
	if open = a.list(p.Stmts, sc.inside(p.Op.String()+" )")) && p.Op == syntax.CmdIn && a.looked(from); !open {
		a.saw(oddSubst, a.source(p, sc))
	}
	return open
}
