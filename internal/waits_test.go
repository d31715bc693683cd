package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// aContext are the names by which a wait is known to end with a context.
var aContext = regexp.MustCompile(`(?i)(ctx|life)$`)

// endlessWaits lists the waits in the functions of a file that have no way out of their own, by function: a receive, a
// send, a select without a context, a timer or a default, a Wait of a group, a condition or a process, and a lock of a
// file. Room in a channel that the function makes, or the return of what it put there, is no wait.
func endlessWaits(f source, fields map[string]bool) map[string][]string {
	found := map[string][]string{}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		w := waits{
			file: f, name: funcName(fn), found: found, fields: fields, room: map[string]bool{},
			put: map[string]bool{}, locks: map[string]bool{}, own: map[string]bool{},
		}
		addChannels(w.own, fn.Type.Params)
		ast.Inspect(fn.Body, w.learn)
		ast.Walk(&w, fn.Body)
	}
	return found
}

// funcName is the name of a function, with the type of a method.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// waits walks through a function.
type waits struct {
	file   source
	name   string
	found  map[string][]string
	fields map[string]bool // of the package, that are channels

	// the function's channels, those with a buffer, those that it puts something into; locks of files
	own, room, put, locks map[string]bool
}

// learn notes what the function makes and puts where.
func (w *waits) learn(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SendStmt:
		w.put[lastName(n.Chan)] = true
	case *ast.AssignStmt:
		for i, e := range n.Rhs {
			if c, ok := e.(*ast.CallExpr); ok && len(n.Lhs) == len(n.Rhs) {
				to := lastName(n.Lhs[i])
				if lastName(c.Fun) == "make" {
					_, isChan := c.Args[0].(*ast.ChanType)
					w.own[to], w.room[to] = w.own[to] || isChan, w.room[to] || len(c.Args) == 2
				}
				sel, ok := c.Fun.(*ast.SelectorExpr)
				w.locks[to] = w.locks[to] || ok && lastName(sel.X) == "flock" && sel.Sel.Name == "New"
			}
		}
	}
	return true
}

func (w *waits) add(n ast.Node, what string) {
	key := strings.TrimPrefix(w.file.pkg, "internal/") + "." + w.name
	w.found[key] = append(w.found[key], fmt.Sprintf("%s:%d: %s", w.file.path, w.file.fset.Position(n.Pos()).Line, what))
}

// Visit notes a wait. The cases of a select wait together.
func (w *waits) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.SelectStmt:
		if !waysOut(n) {
			w.add(n, "a select")
		}
		for _, c := range n.Body.List {
			for _, s := range c.(*ast.CommClause).Body {
				ast.Walk(w, s)
			}
		}
		return nil
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && !wayOut(n.X) && !w.put[lastName(n.X)] {
			w.add(n, "a receive")
		}
	case *ast.RangeStmt:
		if w.ranges(n.X) {
			w.add(n, "a range")
		}
	case *ast.SendStmt:
		if !w.room[lastName(n.Chan)] {
			w.add(n, "a send")
		}
	case *ast.CallExpr:
		w.call(n)
	}
	return w
}

// ranges reports a channel.
func (w *waits) ranges(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return w.own[e.Name]
	case *ast.SelectorExpr:
		return w.fields[e.Sel.Name]
	}
	return false
}

func (w *waits) call(n *ast.CallExpr) {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) > 0 {
		return
	}
	switch name := sel.Sel.Name; {
	case name == "Wait":
		w.add(n, "a Wait")
	case w.locks[lastName(sel.X)] && (name == "Lock" || name == "RLock"):
		w.add(n, "the lock of a file")
	}
}

// fieldChannels are the names of fields that are channels, in the files of each package.
func fieldChannels(files []source) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, f := range files {
		if out[f.pkg] == nil {
			out[f.pkg] = map[string]bool{}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				addChannels(out[f.pkg], s.Fields)
			}
			return true
		})
	}
	return out
}

func addChannels(to map[string]bool, fields *ast.FieldList) {
	for _, field := range fields.List {
		if _, ok := field.Type.(*ast.ChanType); ok {
			for _, id := range field.Names {
				to[id.Name] = true
			}
		}
	}
}

// waysOut reports a select that does not wait for good.
func waysOut(s *ast.SelectStmt) bool {
	for _, c := range s.Body.List {
		switch comm := c.(*ast.CommClause).Comm.(type) {
		case nil:
			return true
		case *ast.ExprStmt:
			if wayOut(comm.X) {
				return true
			}
		case *ast.AssignStmt:
			if wayOut(comm.Rhs[0]) {
				return true
			}
		}
	}
	return false
}

// wayOut reports a receive, or its channel, that comes to an end: that of a context or a timer.
func wayOut(e ast.Expr) bool {
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.ARROW {
		e = u.X
	}
	switch e := e.(type) {
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		return ok && (sel.Sel.Name == "Done" && aContext.MatchString(lastName(sel.X)) || lastName(sel.X) == "time" &&
			sel.Sel.Name == "After")
	case *ast.SelectorExpr:
		return e.Sel.Name == "C"
	}
	return false
}

// lastName is the last name of x, x.y or x.y().
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		return lastName(e.Fun)
	}
	return ""
}

// TestNoWaitIsWithoutAWayOut: what waits for a channel, a group, a condition, a process or the lock of a file also
// waits for its context or a time limit, or waitsThatEnd has the reason why it ends all the same.
func TestNoWaitIsWithoutAWayOut(t *testing.T) {
	listed := map[string]bool{}
	for reason, names := range waitsThatEnd {
		for _, name := range names {
			if listed[name] {
				t.Errorf("%s is in the list twice, here for: %s", name, reason)
			}
			listed[name] = true
		}
	}
	files := tree(t)
	fields := fieldChannels(files)
	all := map[string][]string{}
	for _, f := range files {
		if f.isTest() || isTestSupport(f.path) {
			continue
		}
		for name, found := range endlessWaits(f, fields[f.pkg]) {
			all[name] = append(all[name], found...)
		}
	}
	for name, found := range all {
		key := name
		if len(found) > 1 {
			key = fmt.Sprintf("%s %d", name, len(found))
		}
		if !listed[key] {
			t.Errorf("%q waits without a way out: also wait for the context (a select with ctx.Done), or give the reason why "+
				"it ends in waitsThatEnd\n\t%s", key, strings.Join(found, "\n\t"))
		}
		delete(listed, key)
	}
	for key := range listed {
		t.Errorf("%s: there is no such wait any more: take it out of the list", key)
	}
}

// isTestSupport reports files that only tests use, which give up by themselves.
func isTestSupport(path string) bool {
	for _, dir := range []string{"internal/llm/llmtest/", "internal/machine/term/termtest/", "internal/base/await/", "tools/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}

// TestTheWaitsOfAFunctionAreFound holds endlessWaits to what it promises.
func TestTheWaitsOfAFunctionAreFound(t *testing.T) {
	const text = `package p
type s struct{ in chan int; life context.Context }
func receive(c chan int)                       { <-c }
func send(c chan int)                          { c <- 1 }
func loop(c chan int)                          { for range c {} }
func (x *s) field()                            { for range x.in {} }
func group(wg *sync.WaitGroup)                 { wg.Wait() }
func locked()                                  { l := flock.New("x"); _ = l.Lock() }
func choose(a, b chan int)                     { select { case <-a: case <-b: } }
func inside(ctx context.Context, a chan int)   { select { case <-ctx.Done(): <-a } }
func bound(ctx context.Context, a chan int)    { select { case <-a: case <-ctx.Done(): } }
func (x *s) living(a chan int)                 { select { case <-a: case <-x.life.Done(): } }
func timed(a chan int)                         { select { case <-a: case <-time.After(1): } }
func tries(a chan int)                         { select { case a <- 1: default: } }
func room()                                    { c := make(chan int, 1); c <- 1 }
func places(ctx context.Context, c chan int)   { c <- 1; <-c }
func list(all []int)                           { for range all {} }`
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	f := source{path: "p.go", pkg: "internal/p", ast: parsed, fset: fset}
	var got []string
	for name, found := range endlessWaits(f, fieldChannels([]source{f})["internal/p"]) {
		got = append(got, fmt.Sprint(strings.TrimPrefix(name, "p."), " ", len(found)))
	}
	slices.Sort(got)
	const want = "choose 1, group 1, inside 1, locked 1, loop 1, places 1, receive 1, s.field 1, send 1"
	if strings.Join(got, ", ") != want {
		t.Errorf("found %s\nwant %s", strings.Join(got, ", "), want)
	}
}
