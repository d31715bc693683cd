package tool

import (
	"path/filepath"
	"strings"
)

// exitMeaning explains exit code 1 of a command line where it is an answer and no failure: grep and
// its kin found nothing, find could not read everything, diff found differences, a test was false. It is
// empty when the code is a failure, and when it may be that of another command of the line.
func exitMeaning(command string, code int, output string) string {
	if code != 1 {
		return ""
	}
	cmds, joins, ok := splitCommands(command)
	if !ok || len(cmds) == 0 {
		return ""
	}
	// An earlier member of a && chain may have failed instead; of cd we know that it would have said so.
	for i := len(joins) - 1; i >= 0 && joins[i] == "&&"; i-- {
		if firstWord(cmds[i]) != "cd" || strings.Contains(output, "cd: ") {
			return ""
		}
	}
	words := strings.Fields(cmds[len(cmds)-1])
	words = words[assignments(words):]
	if len(words) == 0 {
		return ""
	}
	name := filepath.Base(words[0])
	if name == "git" && len(words) > 1 {
		name += " " + words[1]
	}
	switch name {
	case "grep", "rg", "egrep", "fgrep", "zgrep", "ag", "ack", "git grep":
		return "no lines matched"
	case "find":
		return "some folders could not be read"
	case "diff", "cmp", "git diff":
		return "the files differ"
	case "test", "[", "[[":
		return "the condition is false"
	}
	return ""
}

// codeMeaning is the meaning of an exit code that shells give (bash(1), EXIT STATUS); empty where it has none of its
// own.
func codeMeaning(command string, code int) string {
	switch code {
	case 124:
		if strings.Contains(command, "timeout ") {
			return "the time of `timeout` was over"
		}
	case 126:
		return "it was found, but cannot be run: not executable, or a folder"
	case 127:
		return "a program was not found"
	case 128 + 1, 128 + 2, 128 + 3, 128 + 4, 128 + 6, 128 + 7, 128 + 8, 128 + 9, 128 + 11, 128 + 13, 128 + 14, 128 + 15,
		128 + 24, 128 + 25:
		return signalMeaning(code - 128)
	}
	return ""
}

func signalMeaning(n int) string {
	name := map[int]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
		9:  "SIGKILL: often no memory was left",
		11: "SIGSEGV: it crashed", 13: "SIGPIPE: its reader ended", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU",
		25: "SIGXFSZ",
	}[n]
	return "a program was ended by " + name
}

func firstWord(cmd string) string {
	words := strings.Fields(cmd)
	words = words[assignments(words):]
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// assignments counts the NAME=value words that a command starts with.
func assignments(words []string) int {
	for i, w := range words {
		name, _, ok := strings.Cut(w, "=")
		if !ok || name == "" || strings.ContainsAny(name, `'"$/`) {
			return i
		}
	}
	return len(words)
}

// splitCommands splits a command line at |, ||, &&, & and ; outside quotes. It gives up (ok is false) on
// lines that need a real parser: several lines, substitutions, subshells, groups, keywords in front.
func splitCommands(line string) (cmds, joins []string, ok bool) {
	line = strings.TrimSpace(line)
	start := 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '\\':
			i++
		case '\'', '"':
			end := closing(line, i)
			if end < 0 {
				return nil, nil, false
			}
			i = end
		case '\n', '`', '(', ')', '{', '}', '#':
			return nil, nil, false
		case '$':
			if i+1 < len(line) && line[i+1] == '(' {
				return nil, nil, false
			}
		case '|', '&', ';':
			if i > start && c == '&' && (line[i-1] == '>' || (i+1 < len(line) && line[i+1] == '>')) {
				continue // 2>&1 and &>file
			}
			join := string(c)
			if i+1 < len(line) && line[i+1] == c {
				join += join
			}
			cmds, joins = append(cmds, strings.TrimSpace(line[start:i])), append(joins, join)
			i += len(join) - 1
			start = i + 1
		}
	}
	if last := strings.TrimSpace(line[start:]); last != "" {
		return append(cmds, last), joins, true
	}
	return nil, nil, false // it ends in an operator
}

// closing is where the quote that opens at i closes, or -1. A substitution in double quotes is not looked into.
func closing(line string, i int) int {
	q := line[i]
	for j := i + 1; j < len(line); j++ {
		switch {
		case line[j] == q:
			return j
		case q == '"' && line[j] == '\\':
			j++
		}
	}
	return -1
}
