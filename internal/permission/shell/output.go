package shell

import (
	"encoding/base64"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// maxOutput is how much text a pipeline is followed for, and maxPipes how many members.
const (
	maxOutput = 20_000
	maxPipes  = 12
)

// printed is the output of a pipe, where the words show it: echo, printf, cat of a here-document, and programs that
// decode or rearrange their text. Nothing is run.
func (a *analysis) printed(members []member, sc *scope) (text string, known bool) {
	if a.mute > maxPipes || len(members) > maxPipes {
		members = members[max(0, len(members)-maxPipes):]
	}
	a.mute++
	defer func() { a.mute-- }()
	known = true
	for i, m := range members {
		got, ok := a.stmtOutput(m.stmt, sc.child(), text, i > 0)
		text, known = got[:min(len(got), maxOutput)], known && ok && len(got) <= maxOutput && !m.stmt.Negated
	}
	return text, known
}

// output is the output of statements that run one after the other.
func (a *analysis) output(stmts []*syntax.Stmt, sc *scope) (text string, known bool) {
	if a.mute > maxPipes || len(stmts) == 0 || len(stmts) > maxPipes {
		return "", false
	}
	a.mute++
	defer func() { a.mute-- }()
	known = true
	for _, s := range stmts {
		got, ok := a.stmtOutput(s, sc.child(), "", false)
		text += got
		known = known && ok && !s.Negated && !s.Background
	}
	return text[:min(len(text), maxOutput)], known && len(text) <= maxOutput
}

// stmtOutput is the output of one statement that reads in.
func (a *analysis) stmtOutput(s *syntax.Stmt, sc *scope, in string, piped bool) (string, bool) {
	if a.mute > maxPipes || a.steps > 2000 {
		return "", false
	}
	a.steps++
	a.mute++
	defer func() { a.mute-- }()
	read := input{text: in, known: piped, any: piped}
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			a.redirection(r, sc, &read)
		case syntax.DplOut, syntax.DplIn:
		case syntax.RdrOut:
			if !inList("harmless files", r.Word.Lit()) || (r.N != nil && r.N.Value != "2") {
				return "", false
			}
			if r.N == nil {
				return "", true
			}
		default:
			return "", false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		for _, as := range a.assignments(c.Assigns, sc) {
			if len(c.Args) == 0 {
				sc.assign(as.name, binding{text: as.text, known: as.known})
			}
		}
		text, known := a.callOutput(a.words(c.Args, sc), read, sc)
		return text, known && !(len(c.Args) > 0 && len(c.Assigns) > 0 && c.Args[0].Lit() == "mktemp")
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.Pipe, syntax.PipeAll:
			return a.printed(flatten(c), sc)
		case syntax.AndStmt:
			x, ok := a.stmtOutput(c.X, sc, in, piped)
			y, fine := a.stmtOutput(c.Y, sc, in, piped)
			return x + y, ok && fine
		}
	case *syntax.Subshell:
		return a.output(c.Stmts, sc)
	case *syntax.Block:
		return a.output(c.Stmts, sc)
	}
	return "", false
}

// callOutput is the output of a simple command.
func (a *analysis) callOutput(words []word, in input, sc *scope) (string, bool) {
	for len(words) > 1 && words[0].unknown && words[0].text == "" {
		words = words[1:]
	}
	if len(words) == 0 {
		return "", true
	}
	args := texts(words[1:])
	known := !anyUnknown(words)
	switch baseName(words[0]) {
	case "builtin", "command", "exec", "nohup", "env", "sudo", "doas", "timeout", "nice", "stdbuf", "setsid", "ionice",
		"chrt", "busybox", "toybox", "unbuffer":
		if inner := innerWords(words, sc, a); len(inner) > 0 {
			text, ok := a.callOutput(inner, in, sc)
			return text, ok && known
		}
		if len(args) == 2 && (args[0] == "-v" || args[0] == "-V") {
			return args[1] + "\n", false
		}
	case "eval":
		if file, err := parse(strings.Join(args, " ")); err == nil {
			inner := sc.child()
			inner.src = strings.Join(args, " ")
			text, ok := a.output(file.Stmts, inner)
			return text, ok && known
		}
	case "echo":
		text, ok := echo(args)
		return text, ok && known
	case "printf":
		text, ok := printf(args)
		return text, ok && known
	case "which", "whereis", "type":
		if len(args) > 0 {
			return args[len(args)-1] + "\n", false
		}
	case "mktemp":
		if madeInTemp(args, sc) {
			return "/tmp/tmp.XXXXXXXXXX\n", known
		}
	case "basename":
		if len(args) == 1 {
			return filepath.Base(args[0]) + "\n", known && args[0] != "" && args[0][0] != '-'
		}
	case "pwd":
		if len(sc.dirs) == 1 && len(args) == 0 {
			return sc.dirs[0] + "\n", known
		}
	case "find":
		// Its start folders stand for its matches, when it takes everything.
		var roots []string
		for _, w := range found(&call{words: append(words[:len(words):len(words)], word{text: "-delete"})}) {
			roots = append(roots, w.text)
		}
		return strings.Join(roots, "\n") + "\n", false
	case "true", ":":
		return "", true
	default:
		if in.any {
			return filter(baseName(words[0]), args, in)
		}
	}
	return "", false
}

// madeInTemp reports whether mktemp makes its file or folder in /tmp.
func madeInTemp(args []string, sc *scope) bool {
	_, moved := sc.vars["TMPDIR"]
	return !moved && sc.funcs["mktemp"] == nil && sc.aliases["mktemp"] == "" && !slices.ContainsFunc(args,
		func(arg string) bool {
			return !slices.Contains([]string{"-d", "-q", "-dq", "--directory", "--quiet", "-t"}, arg) &&
				!strings.HasPrefix(arg, "--suffix=") && !strings.HasPrefix(arg, "/tmp/") &&
				!slices.Contains(args, "-t") || strings.Contains(arg, "..")
		})
}

// innerWords are the words of the command that a wrapper runs.
func innerWords(words []word, sc *scope, a *analysis) []word {
	use := program.Analyze(programWords(words), program.Env{Dir: sc.dir(), World: a.world})
	if len(use.Inner) != 1 {
		return nil
	}
	_, rest := leading(use.Inner[0], "")
	out := make([]word, 0, len(rest))
	for _, w := range rest {
		out = append(out, fromProgram(w, nil))
	}
	return out
}

// filter is the output of a program for its input.
func filter(name string, args []string, in input) (string, bool) {
	text := in.text[:min(len(in.text), maxOutput)]
	switch name {
	case "cat", "tee":
		if len(args) == 0 || (len(args) == 1 && args[0] == "-") {
			return text, in.known
		}
	case "rev":
		return eachLine(text, reverse), in.known
	case "tac":
		return text, in.known && strings.Count(text, "\n") <= 1
	case "base64", "gbase64":
		if decodes(args) {
			return decode64(text, in.known)
		}
		return base64.StdEncoding.EncodeToString([]byte(text)) + "\n", in.known && len(args) == 0
	case "base32", "openssl":
		if name == "openssl" && decodes(args) && (has(args, "base64") || has(args, "-base64") || has(args, "-a")) {
			return decode64(text, in.known)
		}
	case "xxd":
		if short(args, 'r') {
			return decodeHex(text, in.known)
		}
	case "tr":
		return translate(args, text, in.known)
	case "sed":
		return substitute(args, text)
	}
	return "", false
}

func decodes(args []string) bool {
	return short(args, 'd') || short(args, 'D') || has(args, "--decode")
}

// short reports whether a one-letter flag is given, alone or among others.
func short(args []string, flag byte) bool {
	for _, arg := range args {
		if len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.IndexByte(arg, flag) > 0 {
			return true
		}
	}
	return false
}

func has(args []string, want string) bool {
	if want == "" {
		return slices.Contains(args, "")
	}
	for i := range args { // most differ in length or in the first byte, which is cheaper to see than to compare the texts
		if arg := args[i]; len(arg) == len(want) && arg[0] == want[0] && arg == want {
			return true
		}
	}
	return false
}

func decode64(text string, known bool) (string, bool) {
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	out, err := base64.RawStdEncoding.DecodeString(text)
	return string(out), known && err == nil
}

func decodeHex(text string, known bool) (string, bool) {
	out, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	return string(out), known && err == nil
}

func eachLine(text string, f func(string) string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = f(lines[i])
	}
	return strings.Join(lines, "\n")
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

// translate follows tr for plain sets, ranges and deletion.
func translate(args []string, text string, known bool) (string, bool) {
	if len(args) == 2 && (args[0] == "-d" || args[0] == "--delete") {
		set := trSet(args[1])
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(set, r) {
				return -1
			}
			return r
		}, text), known
	}
	if len(args) != 2 || strings.HasPrefix(args[0], "-") {
		return text, false
	}
	from, to := []rune(trSet(args[0])), []rune(trSet(args[1]))
	if len(from) == 0 || len(to) == 0 {
		return text, false
	}
	return strings.Map(func(r rune) rune {
		for i, f := range from {
			if f == r {
				return to[min(i, len(to)-1)]
			}
		}
		return r
	}, text), known
}

func trSet(s string) string {
	for name, set := range map[string]string{
		"[:upper:]": "A-Z", "[:lower:]": "a-z", "[:space:]": " \t\n\r\v\f", "[:digit:]": "0-9", `\n`: "\n", `\t`: "\t",
		`\r`: "\r",
	} {
		s = strings.ReplaceAll(s, name, set)
	}
	r := []rune(s)
	var out []rune
	for i := 0; i < len(r); i++ {
		if i+2 < len(r) && r[i+1] == '-' && r[i] <= r[i+2] && r[i+2]-r[i] < 256 {
			for c := r[i]; c <= r[i+2]; c++ {
				out = append(out, c)
			}
			i += 2
			continue
		}
		out = append(out, r[i])
	}
	return string(out)
}

// substitute follows sed s/a/b/ for plain texts; anything else leaves the text, as a guess.
func substitute(args []string, text string) (string, bool) {
	for _, arg := range args {
		if len(arg) < 4 || arg[0] != 's' {
			continue
		}
		if f := strings.Split(arg[2:], arg[1:2]); len(f) == 3 && f[0] != "" {
			n := 1
			if strings.Contains(f[2], "g") {
				n = -1
			}
			text = strings.Replace(text, f[0], f[1], n)
		}
	}
	return text, false
}

// echo is the output of the builtin.
func echo(args []string) (string, bool) {
	end, escapes := "\n", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if !escapes {
		return text + end, true
	}
	text, ok := printfEscapes(text)
	return text + end, ok
}

// printf is the output of the builtin, for %s, %b, %c, %d and escapes.
func printf(args []string) (string, bool) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "", false
	}
	format, rest := args[0], args[1:]
	var b strings.Builder
	known := true
	for round := 0; round == 0 || (len(rest) > 0 && round < maxBraces && strings.Contains(format, "%")); round++ {
		text, left, ok := printfOnce(format, rest)
		known = known && ok
		b.WriteString(text)
		if len(left) == len(rest) && round > 0 {
			break
		}
		rest = left
	}
	return b.String(), known
}

func printfOnce(format string, args []string) (string, []string, bool) {
	var b strings.Builder
	known := true
	next := func() string {
		if len(args) == 0 {
			return ""
		}
		arg := args[0]
		args = args[1:]
		return arg
	}
	for i := 0; i < len(format); i++ {
		switch {
		case format[i] == '\\' && i+1 < len(format):
			n, text, ok := ansiEscape(format[i+1:])
			known = known && ok
			b.WriteString(text)
			i += n
		case format[i] == '%' && i+1 < len(format):
			i++
			switch format[i] {
			case '%':
				b.WriteByte('%')
			case 's':
				b.WriteString(next())
			case 'd', 'i':
				arg := next()
				known = known && isNumber(strings.TrimPrefix(arg, "-"))
				b.WriteString(arg)
			case 'b':
				text, ok := printfEscapes(next())
				known = known && ok
				b.WriteString(text)
			case 'c':
				if arg := next(); arg != "" {
					b.WriteByte(arg[0])
				}
			default:
				known = false
				b.WriteString(next())
			}
		default:
			b.WriteByte(format[i])
		}
	}
	return b.String(), args, known
}

// printfEscapes decodes the escapes of echo -e and %b, where octal begins with a zero.
func printfEscapes(text string) (string, bool) {
	return ansi(strings.ReplaceAll(text, `\0`, `\`))
}
