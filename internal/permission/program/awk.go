package program

import "strings"

// awkLooks: only programs without anything that runs, reads or writes beside the input.
func awkLooks(c *call) {
	if c.has("-f", "--file", "-E", "--exec", "-i", "--include", "-l", "--load", "-e", "--source") {
		c.Literal = true
		return
	}
	if len(c.ops) == 0 {
		return
	}
	p := c.ops[0]
	if p.Unknown {
		c.refuse("only running it tells which program awk runs")
		return
	}
	if why := awkDoes(p.Text); why != "" {
		c.exact("the awk program " + why)
	}
}

// awkWords do more than look, or reach what the words of the command do not name.
var awkWords = []string{
	"system", "getline", "close", "ENVIRON", "PROCINFO", "ARGV", "ARGC", "ARGIND", "load", "include", "eval",
}

// awkDoes says what in an awk program does more than look; "" for nothing.
//
// The words count wherever they stand. For the signs | > < @ strings and patterns are left out, where it is
// beyond doubt what is a string, a pattern and a division: a program that has both kinds of quotes within
// one another is not told apart.
func awkDoes(text string) string {
	for _, w := range awkWords {
		if holdsWord(text, w) {
			return "uses " + w
		}
	}
	if !strings.ContainsAny(text, "|<>@") {
		return ""
	}
	code, ok := awkCode(text)
	switch {
	case !ok:
		return "is more than can be told apart"
	case strings.Contains(strings.ReplaceAll(code, "||", ""), "|"):
		return "pipes to a program"
	case strings.Contains(code, "@"):
		return "calls what only running tells"
	case awkWrites(code):
		return "writes a file"
	}
	return ""
}

// awkWrites: after print, > names a file; elsewhere it compares.
func awkWrites(code string) bool {
	for i := range len(code) {
		if code[i] != '>' {
			continue
		}
		from := strings.LastIndexAny(code[:i], ";{}\n") + 1
		if strings.Contains(code[from:i], "print") {
			return true
		}
	}
	return false
}

// awkCode blanks out strings and patterns.
func awkCode(text string) (string, bool) {
	var b strings.Builder
	last := byte('\n') // the last sign that is not a blank
	for i := 0; i < len(text); i++ {
		c := text[i]
		divides := isLetter(last) || strings.IndexByte(`)]$"`, last) >= 0
		switch {
		case c == '\\':
			return "", false
		case c == '/' && !divides && strings.IndexByte("~(,!&|{};\n", last) < 0:
			return "", false // a pattern, or a division after ++
		case c == '"', c == '/' && !divides:
			end := quoted(text, i)
			if end < 0 || c == '"' && strings.Contains(text[i:end], "/") || c == '/' && strings.Contains(text[i:end], `"`) {
				return "", false
			}
			i = end
			b.WriteString(`""`)
			last = '"'
			continue
		}
		if c != ' ' && c != '\t' {
			last = c
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// quoted finds the end of the string or pattern that begins at i.
func quoted(text string, i int) int {
	end := text[i]
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '\n':
			return -1
		case end:
			return j
		}
	}
	return -1
}
