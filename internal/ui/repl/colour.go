package repl

import "strings"

// plainColour ends a colour.
const plainColour = "\x1b[0m"

// colourOf are the colours of the ends of calls: the four that every terminal has.
var colourOf = map[string]string{"ok": "\x1b[32m", "failed": "\x1b[31m", "denied": "\x1b[33m"}

// icons are those of tools; others have a dot.
var icons = map[string]string{
	"Bash": "$", "Edit": "±", "Write": "+", "ApplyPatch": "±", "Read": "▤", "Grep": "⌕", "Glob": "⌕", "Task": "◆",
	"WebFetch": "⇄", "WebSearch": "⇄", "TodoWrite": "☑",
}

func iconOf(tool string) string {
	if icon := icons[tool]; icon != "" {
		return icon
	}
	return "•"
}

// diffColour colours a line of a diff that is indented.
func diffColour(line string) string {
	switch t := strings.TrimLeft(line, " "); {
	case strings.HasPrefix(t, "+"):
		return colourOf["ok"] + line + plainColour
	case strings.HasPrefix(t, "-"):
		return colourOf["failed"] + line + plainColour
	case strings.HasPrefix(t, "@@"):
		return "\x1b[36m" + line + plainColour
	}
	return line
}
