package shell

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
)

// redirect is one redirection that names a file.
type redirect struct {
	op     string
	target word
	write  bool
	read   bool
	dirs   []string
	raw    string
}

// redirected is the result of the redirections of a statement.
type redirected struct {
	script string // written anew, each with a blank before it
	others string // the same without those of the input
	ok     bool   // all of them are harmless and were written anew
	write  bool
}

// harmlessFiles may be written by a read-only command.
var harmlessFiles = set{
	"/dev/null", "/dev/stdout", "/dev/stderr",
}

// redirections walks the redirections of a statement.
func (a *analysis) redirections(s *syntax.Stmt, sc *scope, in *input) redirected {
	out := redirected{ok: true}
	var script, others strings.Builder
	for _, r := range s.Redirs {
		text, ok := a.redirection(r, sc, in)
		if !ofInput(r) {
			others.WriteString(text)
		}
		out.ok = out.ok && ok
		out.write = out.write || !ok || r.Op != syntax.RdrIn
		script.WriteString(text)
	}
	out.script, out.others = script.String(), others.String()
	return out
}

// ofInput reports whether a redirection is one of the standard input.
func ofInput(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return r.N == nil || r.N.Value == "0"
	}
	return r.N != nil && r.N.Value == "0"
}

func (a *analysis) redirection(r *syntax.Redirect, sc *scope, in *input) (script string, ok bool) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
		if strings.HasPrefix(fd, "{") {
			a.saw(oddControl, fd)
			a.opaque()
		}
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return a.hereDocument(r, sc, in, fd)
	case syntax.WordHdoc:
		w := a.expandOne(r.Word, sc)
		*in = input{text: w.text + "\n", known: !w.unknown, any: true}
		if !w.literal() {
			a.raise(permission.ClassWrite)
		}
		return " " + fd + "<<<" + quote(w.text), w.literal() && !strings.HasPrefix(fd, "{")
	case syntax.DplIn, syntax.DplOut:
		if ofInput(r) {
			*in = input{any: true}
		}
		if text, ok := duplicate(r, fd); ok {
			return text, true
		}
	}
	return a.fileRedirect(r, sc, in, fd)
}

// duplicate handles 2>&1, >&2, 2>&-, <&0.
func duplicate(r *syntax.Redirect, fd string) (script string, ok bool) {
	to := r.Word.Lit()
	if to != "-" && strings.Trim(to, "0123456789") != "" || to == "" || len(to) > 3 || strings.HasPrefix(fd, "{") {
		return "", false
	}
	return " " + fd + r.Op.String() + to, true
}

// expandOne expands a word that stays one word.
func (a *analysis) expandOne(w *syntax.Word, sc *scope) word {
	pieces := make([]piece, 0, len(w.Parts)+1)
	for i, part := range w.Parts {
		pieces = a.pieces(pieces, part, sc, i == 0, i == len(w.Parts)-1)
	}
	for i := range pieces {
		pieces[i].split = false
		if !pieces[i].quoted && !pieces[i].literal {
			pieces[i].text, pieces[i].quoted = unescape(pieces[i].text), true
		}
	}
	words := assemble(append(pieces, piece{quoted: true}), "", false)
	return words[0]
}

// fileRedirect handles redirections that name a file.
func (a *analysis) fileRedirect(r *syntax.Redirect, sc *scope, in *input, fd string) (script string, ok bool) {
	words := a.expand(r.Word, sc)
	op := r.Op.String()
	read := r.Op == syntax.RdrIn
	var target word
	switch len(words) {
	case 1:
		target = words[0]
	default:
		target = word{show: a.source(r.Word, sc), unknown: true}
	}
	if target.glob {
		if plain := unbracket(target.text); !hasMeta(plain) && !read {
			a.path(permission.Write, plain, sc.places(), true)
		}
		target.unknown = true
	}
	if read && target.code != "" && target.list != nil && target.before+target.after == "" && len(sc.dirs) == 1 &&
		a.mute == 0 && a.mayRead(target.list, sc) {
		*in = input{any: true}
		return " " + fd + "<" + target.code, true
	}
	if target.produced != nil {
		text, known := a.output(target.produced.Stmts, sc)
		*in = input{text: text, known: known, any: true}
		a.raise(permission.ClassWrite)
		return "", false
	}
	if read {
		*in = input{any: true}
		if target.literal() && !target.glob && len(sc.dirs) == 1 && (fd == "" || fd == "0") {
			in.file = from(target.text, sc.dirs[0])
			in.list = &gap{file: in.file}
		}
	}
	red := &redirect{
		op: op, target: target, write: !read, read: read || r.Op == syntax.RdrInOut, dirs: sc.dirs,
		raw: a.source(r, sc),
	}
	if r.Op == syntax.DplOut {
		op = "&>"
	}
	script = " " + fd + op + quote(target.text)
	named := target.literal() && !target.glob && target.text != "" && !strings.HasPrefix(fd, "{")
	if !read && r.Op != syntax.RdrInOut && named && harmlessFiles.has(filepath.Clean(target.text)) {
		return script, true
	}
	if a.mute == 0 {
		a.redirs = append(a.redirs, red)
		a.touch(red, sc)
	}
	if !read || !named || sc.dirs == nil {
		a.raise(permission.ClassWrite)
	}
	// <> opens for writing and reading: nobody needs it, so it has no safe form.
	return script, named && sc.dirs != nil && r.Op != syntax.RdrInOut
}

// touch notes the access that a redirection makes.
func (a *analysis) touch(r *redirect, sc *scope) {
	if host, ok := device(r.target.text); ok {
		a.access(permission.Access{Kind: permission.Net, Target: host})
		return
	}
	if r.target.unknown || r.target.text == "" {
		a.unknownTarget(r)
	}
	if r.target.text == "" {
		return
	}
	before := len(a.accesses)
	if r.write {
		a.path(permission.Write, r.target.text, sc.places(), true)
	}
	if r.read {
		a.path(permission.Read, r.target.text, sc.places(), true)
	}
	for i := before; i < len(a.accesses); i++ {
		a.accesses[i].Redirect = true
	}
}

// unknownTarget notes a file unknown until the line runs. No rule covers it.
func (a *analysis) unknownTarget(r *redirect) {
	show := r.target.show
	if show == "" {
		show = r.raw
	}
	kinds := []permission.Kind{permission.Write, permission.Read}
	for i, does := range []bool{r.write, r.read} {
		if does {
			a.access(permission.Access{Kind: kinds[i], Target: show, Node: permission.Unknown, Redirect: true})
		}
	}
}

// device returns the host of bash's /dev/tcp/HOST/PORT.
func device(path string) (host string, ok bool) {
	for _, prefix := range []string{"/dev/tcp/", "/dev/udp/"} {
		if rest, found := strings.CutPrefix(path, prefix); found {
			host, port, _ := strings.Cut(rest, "/")
			return host + ":" + port, true
		}
	}
	return "", false
}

// hereDocument handles << and <<-: a body without expansions becomes a here-string.
func (a *analysis) hereDocument(r *syntax.Redirect, sc *scope, in *input, fd string) (script string, ok bool) {
	quoted := quotedDelimiter(r.Word)
	if !plainDelimiter(a.source(r.Word, sc)) {
		a.opaque() // shells differ on where such a document ends
	}
	text, code, plain := "", "", true
	if r.Hdoc != nil {
		text, code, plain = a.hereBody(r.Hdoc, sc, quoted)
	}
	if r.Op == syntax.DashHdoc {
		text = stripTabs(text)
	}
	*in = input{text: text, known: plain, any: true}
	if !plain && code != "" && r.Op == syntax.Hdoc && !strings.HasPrefix(fd, "{") && a.mute == 0 {
		return " " + fd + "<<<" + code, true
	}
	if !plain {
		a.raise(permission.ClassWrite)
	}
	if text == "" {
		return " " + fd + "</dev/null", plain && !strings.HasPrefix(fd, "{")
	}
	body, ended := strings.CutSuffix(text, "\n")
	return " " + fd + "<<<" + quote(body), plain && ended && !strings.HasPrefix(fd, "{")
}

// plainDelimiter reports whether the delimiter of a here-document is a plain name, in quotes or not.
func plainDelimiter(source string) bool {
	if n := len(source); n > 1 && (source[0] == '\'' || source[0] == '"') && source[n-1] == source[0] {
		source = source[1 : n-1]
	}
	return source != "" && strings.Trim(source, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.!") == ""
}

// quotedDelimiter reports whether any of the delimiter is quoted, so that the body is taken as it is.
func quotedDelimiter(w *syntax.Word) bool {
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// hereBody is the text of a here-document; plain when the line shows all of it. code is the same as one word for a
// script, where only variables of every session and read-only commands are left open; "" for none.
func (a *analysis) hereBody(w *syntax.Word, sc *scope, quoted bool) (text, code string, plain bool) {
	plain = true
	open := false
	var b, script strings.Builder
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case ok && quoted:
			b.WriteString(lit.Value)
		case ok:
			plain, open = plain && !strings.Contains(lit.Value, `\`), open || strings.Contains(lit.Value, `\`)
			b.WriteString(unescapeDouble(lit.Value))
			script.WriteString(quote(unescapeDouble(lit.Value)))
		default:
			for _, p := range a.quotedPieces(&syntax.DblQuoted{Parts: []syntax.WordPart{part}}, sc) {
				plain = plain && !p.unknown && !p.worked && p.code == ""
				b.WriteString(p.text)
				switch {
				case p.code != "" && p.produced == nil:
					script.WriteString(`"` + p.code + `"`)
				case p.unknown || p.worked:
					open = true
				default:
					script.WriteString(quote(p.text))
				}
			}
		}
	}
	text = b.String()
	if code = script.String(); open || !strings.HasSuffix(text, "\n") || !strings.HasSuffix(code, "\n'") {
		return text, "", plain
	}
	return text, strings.TrimSuffix(code, "\n'") + "'", plain
}

func stripTabs(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

// bareRedirect notes a statement that is nothing but redirections: it creates or empties files.
func (a *analysis) bareRedirect(s *syntax.Stmt, sc *scope) {
	raw := a.source(s, sc)
	a.part(permission.Part{
		Text: raw, Raw: raw, Class: permission.ClassWrite, Exact: false, Within: sc.within,
		Reason: "it only opens files",
	}, sc)
	a.raise(permission.ClassWrite)
}
