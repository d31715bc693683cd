package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// word is one argument as a program would get it.
type word struct {
	text     string // without quotes, expanded as far as it is known; a pattern where glob is set
	show     string // as rules see it: without quotes, parts that are not literal as written
	glob     bool   // an unquoted pattern
	unknown  bool   // some of it is unknown until it runs
	worked   bool   // some of it was worked out: not literal
	quoted   bool
	braced   bool              // came out of braces
	guessed  bool              // its unknown part was taken for empty
	tilde    bool              // begins with the home folder, written ~
	open     bool              // what is unknown is the output of read-only commands, or a variable that every session has
	listed   bool              // what is unknown is one of the items of a loop, each of which the analysis saw
	produced *syntax.ProcSubst // it is <(...) or the like
}

// literal reports whether the word is the same to whoever reads it.
func (w word) literal() bool { return !w.unknown && !w.worked }

// stays reports whether it does not matter what an unknown word turns out to be: its commands are read-only, and the
// program does nothing but print it.
func (w word) stays(c *call, i int) bool {
	return w.open && i > 0 && (c.name == "echo" || c.name == "printf" && i > 1 || w.produced != nil && c.use.Class.ReadOnly())
}

// programWords are words for the program table.
func programWords(words []word) []program.Word {
	out := make([]program.Word, len(words))
	for i, w := range words {
		out[i] = program.Word{Text: w.text, Glob: w.glob, Unknown: w.unknown, Quoted: w.quoted}
	}
	return out
}

// piece is a stretch of a word that was written one way.
type piece struct {
	text, show string
	unknown    bool
	worked     bool
	quoted     bool
	tilde      bool // the home folder, written ~
	open       bool // see word
	listed     bool // see word
	literal    bool // unquoted, but no backslash or pattern in it counts
	split      bool // unquoted result of an expansion: blanks in it end the word, patterns in it count
	produced   *syntax.ProcSubst
}

// words expands the words of a command.
func (a *analysis) words(args []*syntax.Word, sc *scope) []word {
	out := make([]word, 0, len(args))
	for _, arg := range args {
		if plain, ok := plainWord(arg); ok {
			out = append(out, plain)
			continue
		}
		out = append(out, a.expand(arg, sc)...)
	}
	return out
}

// expand turns one word of the text into the words it becomes: one, most of the time.
func (a *analysis) expand(w *syntax.Word, sc *scope) []word {
	if plain, ok := plainWord(w); ok {
		return []word{plain}
	}
	if !hasBrace(w) || emptyBraces(w) {
		return a.fields(w, sc, false)
	}
	split := &syntax.Word{Parts: w.Parts}
	if !syntax.SplitBraces(split) {
		return a.fields(w, sc, false)
	}
	a.saw(oddBraces, a.source(w, sc))
	left := maxBraces
	expanded := braces(split.Parts, &left)
	if left <= 0 {
		a.saw(oddTooMuch, "braces that become too many words")
		return []word{{text: a.source(w, sc), show: a.source(w, sc), unknown: true}}
	}
	var out []word
	odd := !simpleBraces(a.source(w, sc))
	for _, parts := range expanded {
		for _, w := range a.fields(&syntax.Word{Parts: parts}, sc, odd) {
			w.braced = true
			out = append(out, w)
		}
	}
	return out
}

// simpleBraces reports whether braces are not nested and hold plain text, which all shells read the same way.
func simpleBraces(source string) bool {
	open := false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '{' && open, c == '}' && !open:
			return false
		case c == '{' || c == '}':
			open = !open
		case open && strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,", c) < 0:
			return false
		}
	}
	return !open
}

// plainWord is the short way for literal words.
func plainWord(w *syntax.Word) (plain word, ok bool) {
	if len(w.Parts) != 1 {
		return plain, false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		if p.Value != "" && p.Value[0] != '~' && p.Value[0] != '=' && !strings.ContainsAny(p.Value, "\\*?[{") {
			return word{text: p.Value, show: p.Value}, true
		}
	case *syntax.SglQuoted:
		if !p.Dollar {
			return word{text: p.Value, show: p.Value, quoted: true}, true
		}
	}
	return plain, false
}

// emptyBraces reports whether the only braces of a word are {}, which stay as they are.
func emptyBraces(w *syntax.Word) bool {
	text := w.Lit()
	return text != "" && !strings.ContainsAny(text, ",\\") && !strings.Contains(text, "..") && !strings.ContainsAny(
		strings.ReplaceAll(text, "{}", ""), "{}")
}

func hasBrace(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") {
			return true
		}
	}
	return false
}

// braces multiplies out brace expansions; left counts the words down that it may still make.
func braces(parts []syntax.WordPart, left *int) [][]syntax.WordPart {
	out := [][]syntax.WordPart{nil}
	for _, part := range parts {
		brace, ok := part.(*syntax.BraceExp)
		if !ok {
			for i := range out {
				out[i] = append(out[i][:len(out[i]):len(out[i])], part)
			}
			continue
		}
		choices := braceChoices(brace, left)
		if *left -= len(out) * len(choices); *left <= 0 {
			return nil
		}
		next := make([][]syntax.WordPart, 0, len(out)*len(choices))
		for _, before := range out {
			for _, choice := range choices {
				next = append(next, append(before[:len(before):len(before)], choice...))
			}
		}
		out = next
	}
	return out
}

// braceChoices are the alternatives of {a,b} or the members of {1..3}.
func braceChoices(b *syntax.BraceExp, left *int) [][]syntax.WordPart {
	if b.Sequence {
		return sequence(b, left)
	}
	var out [][]syntax.WordPart
	for _, elem := range b.Elems {
		out = append(out, braces(elem.Parts, left)...)
		if *left <= 0 {
			return nil
		}
	}
	return out
}

// sequence counts from the first to the second, numbers or letters.
func sequence(b *syntax.BraceExp, left *int) [][]syntax.WordPart {
	from, to := b.Elems[0].Lit(), b.Elems[1].Lit()
	lo, err1 := strconv.Atoi(from)
	hi, err2 := strconv.Atoi(to)
	number := err1 == nil && err2 == nil
	if !number {
		if len(from) != 1 || len(to) != 1 {
			*left = 0
			return nil
		}
		lo, hi = int(from[0]), int(to[0])
	}
	step := 1
	if len(b.Elems) > 2 {
		if n, err := strconv.Atoi(b.Elems[2].Lit()); err == nil && n != 0 {
			step = max(n, -n)
		}
	}
	if lo > hi {
		step = -step
	}
	if step <= -maxBraces*1000 || step >= maxBraces*1000 || (hi-lo)/step >= maxBraces || (hi-lo)/step < 0 {
		*left = 0
		return nil
	}
	var out [][]syntax.WordPart
	for n := range (hi-lo)/step + 1 {
		i := lo + n*step
		text := strconv.Itoa(i)
		if !number {
			text = string(rune(i))
		} else if len(from) > 1 && (from[0] == '0' || to[0] == '0') {
			text = strings.Repeat("0", max(0, max(len(from), len(to))-len(text))) + text
		}
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: text}})
	}
	return out
}

// fields expands a word without braces and splits it where the results of unquoted expansions have blanks.
func (a *analysis) fields(w *syntax.Word, sc *scope, worked bool) []word {
	var pieces []piece
	for i, part := range w.Parts {
		pieces = a.pieces(pieces, part, sc, i == 0, i == len(w.Parts)-1)
	}
	return assemble(pieces, sc.separators(), worked)
}

// assemble joins pieces into words.
func assemble(pieces []piece, separators string, worked bool) []word {
	var out []word
	cur, open := newBuilder(worked), false
	flush := func() {
		if open {
			out = append(out, cur.word())
		}
		cur, open = newBuilder(worked), false
	}
	for _, p := range pieces {
		if p.split && p.unknown && strings.Trim(p.text, separators) == "" {
			p.text = "" // words that are not known may stand between these blanks
		}
		if !p.split || !strings.ContainsAny(p.text, separators) {
			cur.add(p, p.text)
			open = open || p.quoted || p.literal || p.text != "" || p.unknown || p.produced != nil
			continue
		}
		rest := p.text
		for {
			i := strings.IndexAny(rest, separators)
			if i < 0 {
				break
			}
			if i > 0 {
				cur.add(p, rest[:i])
				open = true
			}
			flush()
			rest = rest[i+1:]
		}
		if rest != "" {
			cur.add(p, rest)
			open = true
		}
	}
	flush()
	return out
}

// builder collects one word. The pattern is kept beside the text, because quoted characters lose their
// meaning only in patterns.
type builder struct {
	w             word
	text, pattern strings.Builder
	show          strings.Builder
	shut, other   bool // some of it is worked out and not open; some of it is unknown and not listed
}

func newBuilder(worked bool) *builder { return &builder{w: word{worked: worked}} }

func (b *builder) add(p piece, text string) {
	b.w.unknown = b.w.unknown || p.unknown
	b.w.worked = b.w.worked || p.worked
	b.w.quoted = b.w.quoted || p.quoted
	if p.produced != nil {
		b.w.produced = p.produced
	}
	b.w.open = b.w.open || p.open
	b.shut, b.other = b.shut || (p.unknown || p.worked) && !p.open, b.other || p.unknown && !p.listed
	b.show.WriteString(p.show)
	b.w.tilde = b.w.tilde || p.tilde
	if p.quoted || p.literal {
		b.text.WriteString(text)
		b.pattern.WriteString(escapePattern(text))
		return
	}
	// Unquoted text that is not the result of an expansion still holds its backslashes.
	plain := text
	if !p.split {
		plain = unescape(text)
	}
	b.w.glob = b.w.glob || hasMeta(text)
	b.w.quoted = b.w.quoted || plain != text
	b.text.WriteString(plain)
	b.pattern.WriteString(text)
}

func (b *builder) word() word {
	b.w.open, b.w.listed = b.w.open && !b.shut, b.w.unknown && !b.other
	b.w.text, b.w.show = b.text.String(), b.show.String()
	if b.w.glob {
		b.w.text = b.pattern.String()
	}
	return b.w
}

// hasMeta reports whether unquoted text holds a character of patterns.
func hasMeta(text string) bool {
	if text == "[" {
		return false // the command
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// quote writes text as one literal word for any shell.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
