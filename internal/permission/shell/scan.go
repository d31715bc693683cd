package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
)

// scan looks through text that does not parse, or is too long to, so that deny rules still see the programs
// in it: any text between separators is taken for a command.
func (a *analysis) scan(text string, sc *scope) {
	if a.mute > 0 || a.scanned(len(text)) {
		return
	}
	if bomb := strings.Join(strings.FieldsFunc(text, blank), ""); strings.Contains(bomb, ":|:&") {
		a.saw(oddForkBomb, ":")
	}
	inner := sc.inside("text that does not parse")
	inner.guess = true
	seen := map[string]bool{}
	for _, piece := range strings.FieldsFunc(aloneBraces.Replace(text), separator) {
		if piece = strings.TrimSpace(piece); seen[piece] {
			continue
		}
		seen[piece] = true
		a.scanPiece(piece, inner)
	}
}

// aloneBraces are braces that group commands: they stand alone.
var aloneBraces = strings.NewReplacer(" } ", ";", " { ", ";")

// scanned counts the text that was scanned, so that text within text stays bounded.
func (a *analysis) scanned(n int) bool {
	a.steps += 10 + n/100
	return a.steps > 100_000
}

func separator(r rune) bool {
	return strings.ContainsRune(";&|\n\r\v\f()`\u2028\u2029\u0085", r)
}

// scanPiece takes a stretch of text for one command.
func (a *analysis) scanPiece(piece string, sc *scope) {
	words := a.roughWords(piece)
	for len(words) > 0 && (inList("keywords", words[0].text) || inList("keywords", strings.TrimLeft(words[0].text, "{$<>!=")) ||
		isNumber(words[0].text)) {
		words = words[1:]
	}
	var assigns []assigned
	for len(words) > 1 {
		name, value, ok := strings.Cut(words[0].text, "=")
		if !ok || !syntax.ValidName(name) {
			break
		}
		assigns = append(assigns, assigned{name: name, text: value, known: true, show: words[0].text})
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	words[0].text = strings.TrimLeft(words[0].text, "{$<>!=@")
	if at := strings.IndexAny(words[0].text, "<>"); at > 0 {
		words[0].text = words[0].text[:at]
	}
	if words[0].text == "" {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	a.targets(words, sc)
	a.run(&call{words: words, assigns: assigns, raw: strings.TrimSpace(piece)}, sc)
	a.exact = false
	a.raise(permission.ClassWrite)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// roughWords splits text at blanks and takes quotes and backslashes off, without any understanding.
func (a *analysis) roughWords(text string) []word {
	home := strings.NewReplacer("${HOME}", a.world.Home(), "$HOME", a.world.Home())
	var out []word
	strip := strings.NewReplacer(`"`, "", `'`, "", `\`, "")
	for _, f := range strings.FieldsFunc(text, blank) {
		plain := home.Replace(strip.Replace(f))
		if plain == "~" || strings.HasPrefix(plain, "~/") {
			plain = a.world.Home() + plain[1:]
		}
		if plain == "" {
			continue
		}
		out = append(out, word{
			text: plain, show: plain, worked: true, unknown: strings.ContainsAny(plain, "$"),
			glob: hasMeta(plain),
		})
		if bare := withoutVariables(plain); bare != plain {
			out[len(out)-1].text = bare
		}
	}
	return out
}

// withoutVariables takes $x and ${x} out of text.
func withoutVariables(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '{' {
			if end := strings.IndexByte(text[i:], '}'); end > 0 {
				i += end
				continue
			}
		}
		for i+1 < len(text) && (text[i+1] == '_' || text[i+1] == '@' || text[i+1] == '*' || text[i+1] >= '0' &&
			text[i+1] <= '9' || text[i+1]|0x20 >= 'a' && text[i+1]|0x20 <= 'z') {
			i++
		}
	}
	return b.String()
}

// targets notes the files that redirections in rough words would write.
func (a *analysis) targets(words []word, sc *scope) {
	for i, w := range words {
		at := strings.LastIndexByte(w.text, '>')
		if at < 0 {
			continue
		}
		target := strings.TrimLeft(w.text[at+1:], "|&")
		if target == "" && i+1 < len(words) {
			target = words[i+1].text
		}
		if target != "" && strings.Trim(target, "0123456789-") != "" {
			a.path(permission.Write, target, sc.places(), true)
		}
	}
}

// code searches a program in another language for commands that it hands to a shell.
func (a *analysis) code(text string, sc *scope, name string) {
	if a.mute > 0 || a.scanned(len(text)) {
		return
	}
	inner := sc.inside(name + " code")
	inner.guess = true
	all := stringsIn(text)
	if len(all) > 1 {
		all = append(all, strings.Join(all, " ")) // a list of words
	}
	for _, s := range all {
		if words := a.roughWords(s); len(words) > 0 && len(words[0].text) > 1 {
			a.nestedScript(s, inner, name+" code", nil)
		}
	}
}

// stringsIn are the quoted strings in source code, at most a few dozen.
func stringsIn(text string) []string {
	var out []string
	for i := 0; i < len(text) && len(out) < 40; i++ {
		q := text[i]
		if q != '"' && q != '\'' && q != '`' {
			continue
		}
		end := i + 1
		for end < len(text) && text[end] != q {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end < len(text) && end > i+1 {
			out = append(out, text[i+1:end])
		}
		i = end
	}
	return out
}

// forkBomb notes a function that pipes into itself or starts itself in the background.
func (a *analysis) forkBomb(name string, body *syntax.Stmt) {
	calls, spreads := 0, false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 && n.Args[0].Lit() == name {
				calls++
			}
		case *syntax.BinaryCmd:
			spreads = spreads || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		case *syntax.Stmt:
			spreads = spreads || n.Background
		}
		return true
	})
	if calls > 0 && (spreads || calls > 1) {
		a.saw(oddForkBomb, name)
	}
}
