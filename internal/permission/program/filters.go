package program

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// plainSed matches scripts that only print, delete and replace: none of their commands writes, reads a file or runs
// anything. In the second form the end of a pattern may stand in brackets, where some versions of sed end the pattern:
// it is for scripts without the letters of other commands.
var plainSed = [2]func() *regexp.Regexp{
	sync.OnceValue(func() *regexp.Regexp { return sedPattern(true) }),
	sync.OnceValue(func() *regexp.Regexp { return sedPattern(false) }),
}

func sedPattern(strict bool) *regexp.Regexp {
	pattern := func(end string) string {
		inBrackets := ""
		if strict {
			inBrackets = end
		}
		return `(?:[^\\\n\[` + end + `]|\\[^\n]|\[[^\]\\\n` + inBrackets + `]+\])*`
	}
	address := `(?:[0-9]+(?:~[0-9]+)?|\$|/` + pattern(`/`) + `/[IM]*)`
	address = `(?:` + address + `[ \t]*(?:,[ \t]*(?:` + address + `|[+~][0-9]+))?[ \t!]*)?`
	command := `[pdDgGhHxnNP=z]|[qQl][ \t]*[0-9]*|[btT:][ \t]*[A-Za-z0-9_]*`
	for _, end := range []string{`/`, `\|`, `,`, `#`, `@`} {
		text := `(?:[^\\\n` + end + `]|\\[^\n])*`
		command += `|s` + end + pattern(end) + end + text + end + `[gpiIM0-9]*`
	}
	return regexp.MustCompile(`^(?:[\s;}]|` + address + `(?:\{|(?:` + command + `)[ \t]*(?:[;\n}]|$)))*$`)
}

// judgeSed: with a plain script it is read-only, and with -i an edit of the files that it names and of their backups.
func judgeSed(c *call, _ string) {
	files := slices.Clone(c.Reads)
	f, inPlace := c.get("-i", "--in-place")
	if inPlace {
		c.Class, c.Reason = write, "sed -i changes files"
		c.Writes = append(c.Writes, files...)
	}
	scripts := c.values("-e", "--expression")
	if len(scripts) == 0 && len(c.ops) > 0 && !c.has("-f", "--file") {
		scripts = c.ops[:1]
	}
	plain := true
	for _, w := range scripts {
		plain = c.sedScript(w) && plain
	}
	if !inPlace || !plain || len(c.strange)+len(c.unsure) > 0 || c.has("-f", "--file") || len(files) == 0 {
		plain = false
	}
	suffix := f.value.Text
	if f.filled && strings.ContainsAny(suffix, "*/") {
		c.Writes = append(c.Writes, strings.ReplaceAll(suffix, "*", "x"))
		plain = false
	} else if f.filled {
		for _, file := range files {
			c.Writes = append(c.Writes, file+suffix)
		}
	}
	c.InPlace = plain && !f.value.Unknown && !f.value.Glob && c.count("-i", "--in-place") < 2
}

// sedScript reports whether a script is plain. Of any other it notes the files and commands that it may name.
func (c *call) sedScript(w Word) bool {
	if w.Unknown {
		c.unclear("script", "runs")
		return false
	}
	others := strings.ContainsAny(w.Text, "wWerRFv")
	if balanced(w.Text, "{}") && (plainSed[0]().MatchString(w.Text) || !others && plainSed[1]().MatchString(w.Text)) {
		return true
	}
	if others {
		c.exact("only running it tells which files the sed script " + w.Text + " reads or writes")
	}
	c.exact("the sed script " + w.Text + " is not one that is known to print only")
	for line := range strings.SplitSeq(w.Text, "\n") {
		for i := range len(line) {
			// A command stands at the beginning, behind an address, a bracket, a semicolon, or the flags of s.
			if i > 0 && isLetter(line[i-1]) && !strings.ContainsRune("gpIMi0123456789", rune(line[i-1])) {
				continue
			}
			file := strings.TrimLeft(line[i+1:], " \t")
			switch line[i] {
			case 'r', 'R':
				c.Reads = append(c.Reads, file)
			case 'w', 'W':
				c.Writes = append(c.Writes, file)
			}
		}
		// The e command runs the rest of its line.
		if before, run, ok := strings.Cut(line, "e "); ok && strings.Trim(before, "0123456789$,;!{} \t") == "" {
			c.Script = append(c.Script, run)
		}
	}
	return false
}

// awkReaches matches the signs and words without which an awk program reads nothing but its input, and writes and runs
// nothing.
var awkReaches = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("[|>@]|system|getline|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|FUNCTAB|extension|textdomain|gettext")
})

// judgeAwk: the program is the first operand, and whatever follows it is a file or an assignment, flags too.
func judgeAwk(c *call, _ string) {
	if len(c.ops) == 0 || c.has("-f", "--file", "-E", "--exec", "-i", "--include", "-l", "--load", "-e", "--source") {
		return
	}
	p := c.ops[0]
	if p.Unknown || p.Glob {
		c.unclear("program", "runs")
		return
	}
	for _, w := range c.ops[1:] {
		if strings.HasPrefix(w.Text, "/inet") {
			c.exact("gawk takes " + w.Text + " for a machine that it connects to")
		}
	}
	if !awkReaches().MatchString(p.Text) && balanced(p.Text, "{}", "()", "[]", `""`) {
		return
	}
	c.exact("the awk program may read or write files, or run a program")
	for _, m := range awkRedirect().FindAllStringSubmatch(p.Text, -1) {
		if m[1] == "<" {
			c.Reads = append(c.Reads, m[2])
		} else {
			c.Writes = append(c.Writes, m[2])
		}
	}
	if strings.Contains(p.Text, "system") || strings.Contains(p.Text, "|") {
		for _, s := range awkString().FindAllString(p.Text, -1) { // it may be handed to a shell
			if s = s[1 : len(s)-1]; strings.Trim(s, " \t,:;.") != "" {
				c.Script = append(c.Script, s)
			}
		}
	}
}

// balanced reports whether a text has as many signs of one kind as of the other.
func balanced(text string, pairs ...string) bool {
	return !slices.ContainsFunc(pairs, func(pair string) bool {
		n, m := strings.Count(text, pair[:1]), strings.Count(text, pair[1:])
		return n != m || pair[0] == pair[1] && n%2 > 0
	})
}

var (
	// awkRedirect finds files that a program names as it reads or writes them; it may do so in other ways, too.
	awkRedirect = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(<|>>?)\s*\(?\s*"([^"\\]+)"`) })
	awkString   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })
)

// judgeJq: a program can read modules and the environment.
func judgeJq(c *call, _ string) {
	if len(c.ops) == 0 || c.has("-f", "--from-file") {
		return
	}
	p := c.ops[0]
	if p.Unknown {
		c.unclear("program", "runs")
	}
	for _, word := range []string{"env", "ENV", "import", "include", "modulemeta"} {
		if holdsWord(p.Text, word) {
			c.refuse("the jq program uses " + word)
		}
	}
}

// holdsWord reports whether text has word with no letter on either side, and not as the name of a field (.env).
func holdsWord(text, word string) bool {
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		before := i > 0 && (isLetter(rest[i-1]) || rest[i-1] == '.')
		end := i + len(word)
		after := end < len(rest) && isLetter(rest[end])
		if !before && !after {
			return true
		}
		rest = rest[i+1:]
	}
}

func isLetter(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
