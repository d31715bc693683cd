package shell

import (
	"maps"
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
	piped bool     // upto are simple commands without redirections of their input
	list  *gap     // the place of that file, whose text the safe form may have instead
	file  string   // the one file that it comes from, as an absolute path; "" for none
	from  int      // the place of the first of them among the calls
}

// list walks statements that run one after the other. It returns them written anew, ok when that is
// possible: then the text means the same and nothing in it is left to interpretation.
func (a *analysis) list(stmts []*syntax.Stmt, sc *scope) (script string, ok bool) {
	ok = true
	texts := make([]string, 0, len(stmts))
	for _, s := range stmts {
		before := sc.dirs
		text, good := a.stmt(s, sc, input{})
		ok = ok && good
		texts = append(texts, text)
		if !sameDirs(before, sc.dirs) && !a.certain(s, sc) {
			sc.maybe(before)
		}
	}
	return strings.Join(texts, "; "), ok
}

func sameDirs(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// certain reports whether a change of folder cannot have failed: it stands alone and the folder is there.
func (a *analysis) certain(s *syntax.Stmt, sc *scope) bool {
	if _, ok := s.Cmd.(*syntax.CallExpr); !ok || len(sc.dirs) != 1 {
		return false
	}
	return a.world.Stat(sc.dirs[0]).Kind == permission.Folder
}

// stmt walks one statement.
func (a *analysis) stmt(s *syntax.Stmt, sc *scope, in input) (script string, ok bool) {
	if _, long := s.Cmd.(*syntax.BinaryCmd); !long {
		// A list of any length is no nesting: its members are all looked at.
		if a.depth++; a.depth > maxLevel {
			a.depth--
			a.saw(oddTooMuch, "commands within commands")
			a.opaque()
			a.scan(a.source(s, sc), sc)
			return "", false
		}
		defer func() { a.depth-- }()
	}

	rd := a.redirections(s, sc, &in)
	if s.Background || s.Coprocess || s.Disown {
		a.saw(oddBackground, "")
		sc = sc.child()
	}
	script, ok = a.command(s, sc, in, rd)
	if s.Negated {
		script = "! " + script
	}
	if s.Cmd != nil {
		switch _, simple := s.Cmd.(*syntax.CallExpr); {
		case simple:
		case in.list != nil && in.list.filtered:
			script += " <<<" + quote(strings.TrimSuffix(in.list.text, "\n")) + rd.others
		default:
			script += rd.script
		}
	}
	return script, ok && rd.ok && !s.Background && !s.Coprocess && !s.Disown
}

// command walks the command of a statement.
func (a *analysis) command(s *syntax.Stmt, sc *scope, in input, rd redirected) (script string, ok bool) {
	switch c := s.Cmd.(type) {
	case nil:
		a.bareRedirect(s, sc)
		return "", false
	case *syntax.CallExpr:
		return a.call(c, sc, in, rd)
	case *syntax.BinaryCmd:
		return a.binary(c, sc, in)
	case *syntax.Subshell:
		script, ok = a.list(c.Stmts, sc.inside("( )"))
		return "( " + script + " )", ok && len(c.Stmts) > 0
	case *syntax.Block:
		script, ok = a.list(c.Stmts, sc)
		return "{ " + script + "; }", ok && len(c.Stmts) > 0
	case *syntax.TimeClause:
		return a.timed(c, sc, in)
	case *syntax.IfClause:
		return a.ifs(c, sc)
	case *syntax.WhileClause:
		if script, done := a.readLoop(c, sc, in); done {
			return script, true
		}
		if script, done := a.counted(c, sc); done {
			return script, true
		}
		a.opaque()
		a.branch(c.Cond, sc)
		a.branch(c.Do, sc)
	case *syntax.ForClause:
		return a.loop(c, sc)
	case *syntax.CaseClause:
		if script, ok := a.cases(c, sc); ok {
			return script, true
		}
		a.opaque()
	case *syntax.FuncDecl:
		a.define(c, sc)
	case *syntax.ArithmCmd:
		if script, ok := a.calculates([]syntax.ArithmExpr{c.X}, a.source(c, sc), sc); ok {
			return script, true
		}
		a.evaluate(s, sc, "(( ))")
		a.arithmetic(c.X, sc)
	case *syntax.LetClause:
		if script, ok := a.calculates(c.Exprs, a.source(c, sc), sc); ok {
			return script, true
		}
		a.evaluate(s, sc, "let")
		for _, x := range c.Exprs {
			a.arithmetic(x, sc)
		}
	case *syntax.TestClause:
		if script, ok := a.condition(c.X, a.source(c, sc), sc); ok {
			return script, true
		}
		a.evaluate(s, sc, "[[ ]]")
		a.test(c.X, sc)
	case *syntax.DeclClause:
		if script, ok := a.declare(c, sc); ok {
			return script, true
		}
	case *syntax.CoprocClause:
		a.saw(oddCoproc, a.source(c, sc))
		a.opaque()
		a.stmt(c.Stmt, sc.inside("coproc"), input{})
		// bash takes a word for a name only before a compound command, else for the program, and the words
		// before the program for assignments.
		a.nestedScript(cut(sc.src, c.Coproc.Offset()+uint(len("coproc")), c.End().Offset()), sc, "coproc", nil)
	case *syntax.TestDecl:
		a.opaque()
		a.stmt(c.Body, sc.inside("@test"), input{})
	}
	a.saw(oddControl, "")
	a.raise(permission.ClassWrite)
	return "", false
}

// member is one statement of a list or pipe, with the operator before it.
type member struct {
	op   syntax.BinCmdOperator
	stmt *syntax.Stmt
}

// flatten lists the members of a && b || c or of a | b | c, which the tree nests to the left, however many.
func flatten(c *syntax.BinaryCmd) []member {
	pipe := c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	n := 2
	for left := within(c, pipe); left != nil; left = within(left, pipe) {
		n++
	}
	members := make([]member, n)
	for at := n - 1; at > 0; at-- {
		members[at] = member{c.Op, c.Y}
		if at > 1 {
			c = within(c, pipe)
		}
	}
	members[0] = member{0, c.X}
	return members
}

// within is the list or pipe at the left of another whose members belong to it; nil for none.
func within(c *syntax.BinaryCmd, pipe bool) *syntax.BinaryCmd {
	left, ok := c.X.Cmd.(*syntax.BinaryCmd)
	same := ok && pipe == (left.Op == syntax.Pipe || left.Op == syntax.PipeAll)
	if !same || c.X.Negated || c.X.Background || len(c.X.Redirs) > 0 {
		return nil
	}
	return left
}

// binary walks a && b, a || b and pipes.
func (a *analysis) binary(c *syntax.BinaryCmd, sc *scope, in input) (script string, ok bool) {
	members := flatten(c)
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		return a.pipe(c, members, sc, in)
	}
	var b strings.Builder
	ok = true
	before, vars := sc.dirs, map[string]binding(nil)
	for _, m := range members {
		switch m.op {
		case syntax.AndStmt:
			b.WriteString(" && ")
		case syntax.OrStmt:
			// What comes after || runs where nothing changed the folder, too.
			sc.maybe(before)
			b.WriteString(" || ")
		}
		was := vars
		if m.op == syntax.OrStmt {
			sc.unsure(vars) // a member before may have failed, so that those behind it did not run
			was = maps.Clone(sc.vars)
		}
		text, good := a.stmt(m.stmt, sc, in)
		b.WriteString(text)
		ok = ok && good
		switch m.op {
		case syntax.OrStmt:
			sc.maybe(before)
			sc.unsure(was)
		case 0:
			vars = maps.Clone(sc.vars) // variables that the first one sets stay set
		}
	}
	sc.unsure(vars)
	return b.String(), ok
}

// pipe walks a | b | c, each in a shell of its own.
func (a *analysis) pipe(c *syntax.BinaryCmd, members []member, sc *scope, in input) (script string, ok bool) {
	texts := make([]string, 0, len(members))
	ok = true
	from, piped := len(a.calls), true
	for i, m := range members {
		if i > 0 {
			piped = piped && plainMember(members[i-1]) && m.op == syntax.Pipe
			in = input{any: true, scope: sc, upto: members[:i], piped: piped, from: from}
		}
		text, good := a.stmt(m.stmt, sc.child(), in)
		if i+1 < len(members) && members[i+1].op == syntax.PipeAll {
			text += " 2>&1"
			good = good && simple(m.stmt)
		}
		texts = append(texts, text)
		ok = ok && good
	}
	return strings.Join(texts, " | "), ok
}

// plainMember reports whether a member of a pipe is a command that reads its input from the pipe and writes only to
// its output.
func plainMember(m member) bool {
	for _, r := range m.stmt.Redirs {
		if r.Op != syntax.RdrOut || r.N == nil || r.N.Value != "2" || r.Word.Lit() != "/dev/null" {
			return false
		}
	}
	return simple(m.stmt) && !m.stmt.Negated && !m.stmt.Background
}

// simple reports whether a redirection may be written behind the statement.
func simple(s *syntax.Stmt) bool {
	_, ok := s.Cmd.(*syntax.CallExpr)
	return ok
}

// timed walks time, which only measures.
func (a *analysis) timed(c *syntax.TimeClause, sc *scope, in input) (script string, ok bool) {
	if c.Stmt == nil {
		return "time", false
	}
	script, ok = a.stmt(c.Stmt, sc, in)
	return "time " + script, ok
}

// branch walks statements that may run or not.
func (a *analysis) branch(stmts []*syntax.Stmt, sc *scope) (script string, ok bool) {
	before, vars := sc.dirs, maps.Clone(sc.vars)
	script, ok = a.list(stmts, sc)
	sc.maybe(before)
	sc.unsure(vars)
	return script, ok && len(stmts) > 0
}

// ifs walks if, its elifs and its else.
func (a *analysis) ifs(c *syntax.IfClause, sc *scope) (script string, ok bool) {
	var b strings.Builder
	ok = true
	for word := "if"; c != nil; c = c.Else {
		if len(c.Cond) > 0 {
			text, good := a.branch(c.Cond, sc)
			b.WriteString(word + " " + text + "; then ")
			ok = ok && good
		} else {
			b.WriteString("else ")
		}
		text, good := a.branch(c.Then, sc)
		b.WriteString(text + "; ")
		ok, word = ok && good, "elif"
	}
	return b.String() + "fi", ok
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
	a.opaque()
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

// test walks [[ ]].
func (a *analysis) test(x syntax.TestExpr, sc *scope) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		a.prompt(a.look(x, sc), sc, "[[ ]]")
	case *syntax.BinaryTest:
		a.test(x.X, sc)
		a.test(x.Y, sc)
	case *syntax.UnaryTest:
		a.test(x.X, sc)
	case *syntax.ParenTest:
		a.test(x.X, sc)
	}
}

// evaluate notes a compound command that changes or evaluates variables.
func (a *analysis) evaluate(s *syntax.Stmt, sc *scope, what string) {
	raw := a.source(s.Cmd, sc)
	a.part(permission.Part{
		Text: raw, Raw: raw, Class: permission.ClassWrite, Within: sc.within,
		Reason: what + " may evaluate what stands in a variable",
	}, sc)
	a.saw(oddArithmetic, raw)
	a.opaque()
}

// substitution walks $( ) and returns its output, where the line shows it.
func (a *analysis) substitution(c *syntax.CmdSubst, sc *scope) (text string, known bool, script string) {
	was := a.tests
	a.tests = testsNothing
	defer func() { a.tests = was }()
	if a.mute == 0 {
		a.saw(oddSubst, a.source(c, sc))
		within := "$( )"
		if c.Backquotes {
			within = "` `"
		}
		if source := a.source(c, sc); c.Backquotes && strings.Contains(source, "\\\n") && len(source) > 2 {
			// What bash reads there is the text without one level of backslashes.
			a.nestedScript(inBackquotes.Replace(source[1:len(source)-1]), sc, within, sc.args)
			a.opaque()
		}
		ok := false
		if script, ok = a.list(c.Stmts, sc.inside(within)); !ok {
			script = ""
		}
	}
	text, known = a.output(c.Stmts, sc)
	return strings.TrimRight(text, "\n"), known, script
}

var inBackquotes = strings.NewReplacer(`\\`, `\`, "\\`", "`", `\$`, "$")

// processSubstitution walks <( ) and >( ).
// script is set where all commands in it are read-only.
func (a *analysis) processSubstitution(p *syntax.ProcSubst, sc *scope) (script string) {
	was := a.tests
	a.tests = testsNothing
	defer func() { a.tests = was }()
	if a.mute > 0 {
		return ""
	}
	if p.Op == syntax.CmdInTemp {
		a.saw(oddZsh, "=( )")
	}
	from := len(a.parts)
	text, ok := a.list(p.Stmts, sc.inside(p.Op.String()+" )"))
	if ok && p.Op == syntax.CmdIn && a.looked(from) {
		return "<( " + text + " )"
	}
	a.saw(oddSubst, a.source(p, sc))
	return ""
}
