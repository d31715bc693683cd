package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
)

// redirect is one redirection that names a file.
type redirect struct {
	target word
	write  bool
	read   bool
	dirs   []string
	raw    string
}

// redirections walks the redirections of a statement. plain: the files are those that the line names, and nothing else
// happens; writes: one of them writes a file.
func (a *analysis) redirections(s *syntax.Stmt, sc *scope, in *input) (plain, writes bool) {
	plain = true
	for _, r := range s.Redirs {
		ok := a.redirection(r, sc, in)
		plain, writes = plain && ok, writes || !ok || r.Op != syntax.RdrIn
	}
	return plain, writes
}

// ofInput reports whether a redirection is one of the standard input.
func ofInput(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return r.N == nil || r.N.Value == "0"
	}
	return r.N != nil && r.N.Value == "0"
}

func (a *analysis) redirection(r *syntax.Redirect, sc *scope, in *input) (plain bool) {
	named := r.N == nil || !strings.HasPrefix(r.N.Value, "{")
	if !named {
		a.saw(oddControl, r.N.Value)
		a.opaque()
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return a.hereDocument(r, sc, in) && named
	case syntax.WordHdoc:
		w := a.expandOne(r.Word, sc)
		*in = input{text: w.text + "\n", known: !w.unknown, any: true}
		if !w.literal() {
			a.raise(permission.ClassWrite)
		}
		return w.literal() && named
	case syntax.DplIn, syntax.DplOut:
		if ofInput(r) {
			*in = input{any: true}
		}
		// 2>&1, >&2, 2>&-, <&0
		if to := r.Word.Lit(); named && (to == "-" || isNumber(to)) && len(to) <= 3 {
			return true
		}
	}
	return a.fileRedirect(r, sc, in) && named
}

// expandOne expands a word that stays one word.
func (a *analysis) expandOne(w *syntax.Word, sc *scope) word {
	var pieces []piece
	for i, part := range w.Parts {
		pieces = a.pieces(pieces, part, sc, i == 0, i == len(w.Parts)-1)
	}
	for i := range pieces {
		pieces[i].split = false
		if !pieces[i].quoted && !pieces[i].literal {
			pieces[i].text, pieces[i].quoted = unescape(pieces[i].text), true
		}
	}
	return assemble(append(pieces, piece{quoted: true}), "", false)[0]
}

// fileRedirect handles redirections that name a file.
func (a *analysis) fileRedirect(r *syntax.Redirect, sc *scope, in *input) (plain bool) {
	words := a.expand(r.Word, sc)
	read := r.Op == syntax.RdrIn
	target := word{show: a.source(r.Word, sc), unknown: true}
	if len(words) == 1 {
		target = words[0]
	}
	if target.glob {
		if plain := unbracket(target.text); !hasMeta(plain) && !read {
			a.path(permission.Write, plain, sc.places(), true)
		}
		target.unknown = true
	}
	if target.produced != nil {
		text, known := a.output(target.produced.Stmts, sc)
		*in = input{text: text, known: known, any: true}
		a.raise(permission.ClassWrite)
		return false
	}
	if read {
		*in = input{any: true}
	}
	red := &redirect{target: target, write: !read, read: read || r.Op == syntax.RdrInOut, dirs: sc.dirs}
	red.raw = a.source(r, sc)
	known := target.literal() && !target.glob && target.text != ""
	if !red.read && known && inList("harmless files", path.Clean(target.text)) {
		return true
	}
	if a.mute == 0 {
		a.redirs = append(a.redirs, red)
		a.touch(red, sc)
		a.turns(r.Word, sc, func(sc *scope) {
			a.mute++
			w := a.expandOne(r.Word, sc)
			a.mute--
			a.touch(&redirect{target: w, write: red.write, read: red.read, raw: red.raw}, sc)
		})
	}
	if !read || !known || sc.dirs == nil {
		a.raise(permission.ClassWrite)
	}
	return known && sc.dirs != nil && r.Op != syntax.RdrInOut // <> opens for writing and reading: nobody needs it
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

// hereDocument handles << and <<-; plain: its body is a text that the line shows.
func (a *analysis) hereDocument(r *syntax.Redirect, sc *scope, in *input) (plain bool) {
	if !plainDelimiter(a.source(r.Word, sc)) {
		a.opaque() // shells differ on where such a document ends
	}
	text, plain := "", true
	if r.Hdoc != nil {
		text, plain = a.hereBody(r.Hdoc, sc, quotedDelimiter(r.Word))
	}
	if r.Op == syntax.DashHdoc {
		text = stripTabs(text)
	}
	*in = input{text: text, known: plain, any: true}
	if !plain {
		a.raise(permission.ClassWrite)
	}
	return plain && (text == "" || strings.HasSuffix(text, "\n"))
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
	return slices.ContainsFunc(w.Parts, func(part syntax.WordPart) bool {
		lit, ok := part.(*syntax.Lit)
		return !ok || strings.Contains(lit.Value, `\`)
	})
}

// hereBody is the text of a here-document; plain when the line shows all of it.
func (a *analysis) hereBody(w *syntax.Word, sc *scope, quoted bool) (text string, plain bool) {
	plain = true
	var b strings.Builder
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case ok && quoted:
			b.WriteString(lit.Value)
		case ok:
			plain = plain && !strings.Contains(lit.Value, `\`)
			b.WriteString(unescapeDouble(lit.Value))
		default:
			for _, p := range a.quotedPieces(&syntax.DblQuoted{Parts: []syntax.WordPart{part}}, sc) {
				plain = plain && !p.unknown && !p.worked
				b.WriteString(p.text)
			}
		}
	}
	return b.String(), plain
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
