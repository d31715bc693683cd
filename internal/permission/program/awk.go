package program

import (
	"regexp"
	"strings"
	"sync"
)

// judgeAwk: a program is read-only when all of it is understood and nothing in it runs, writes or reads beside the
// input. The program is the first operand, and whatever follows it is a file or an assignment, flags too.
func judgeAwk(c *call) {
	if c.has("-f", "--file", "-E", "--exec", "-i", "--include", "-l", "--load", "-e", "--source") {
		c.Literal = true
		return
	}
	if len(c.ops) == 0 {
		return
	}
	p := c.ops[0]
	if p.Unknown || p.Glob {
		c.refuse("only running it tells which program awk runs")
		return
	}
	if why := awkDoes(p.Text); why != "" {
		c.exact("the awk program " + why)
		c.awkShell(p.Text)
		for _, m := range awkRedirect().FindAllStringSubmatch(p.Text, -1) {
			if m[1] == "<" {
				c.Reads = append(c.Reads, m[2])
			} else {
				c.Writes = append(c.Writes, m[2])
			}
		}
	}
	for _, w := range c.ops[1:] {
		if strings.HasPrefix(w.Text, "/inet") {
			c.exact("gawk takes " + w.Text + " for a machine that it connects to")
		}
	}
}

// awkRedirect finds files that a program names as it reads or writes them; it may do so in other ways, too.
var awkRedirect = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(<|>>?)\s*\(?\s*"([^"\\]+)"`) })

// awkShell finds the commands in the strings of a program that may hand them to a shell.
func (c *call) awkShell(text string) {
	if !strings.Contains(text, "system") && !strings.Contains(text, "|") {
		return
	}
	for i := strings.IndexByte(text, '"'); i >= 0; {
		end := closingQuote(text, i)
		if end < 0 {
			return
		}
		if s := text[i+1 : end]; strings.Trim(s, " \t,:;.") != "" {
			c.Script = append(c.Script, s)
		}
		next := strings.IndexByte(text[end+1:], '"')
		if next < 0 {
			return
		}
		i = end + 1 + next
	}
}

// closingQuote finds the end of the string that begins at i, -1 for none.
func closingQuote(text string, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '"':
			return j
		}
	}
	return -1
}

// awkDoes returns the reason why an awk program is not known to be read-only; "" when it is.
func awkDoes(text string) string {
	p := awkParser{lex: awkLexer{text: text}}
	p.program()
	return p.why
}
