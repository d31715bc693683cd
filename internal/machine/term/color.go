package term

import "strings"

// Depth is how many colours a terminal shows.
type Depth int

// Depths.
const (
	NoColor   Depth = 0
	Color16   Depth = 16
	Color256  Depth = 256
	TrueColor Depth = 1 << 24
)

// ColorDepth says how many colours to use on an output, from the environment and from whether the output
// is a terminal. In this order: NO_COLOR (no-color.org) means none; CLICOLOR_FORCE (bixense.com/clicolors)
// means at least 16, even into a file; without a terminal, or with CLICOLOR=0, there are none; else the
// terminal's own names decide. goos is runtime.GOOS: Windows has no TERM.
func ColorDepth(getenv func(string) string, isTerminal bool, goos string) Depth {
	forced := getenv("CLICOLOR_FORCE") != "" && getenv("CLICOLOR_FORCE") != "0"
	switch {
	case getenv("NO_COLOR") != "":
		return NoColor
	case forced:
		return max(Color16, named(getenv, goos))
	case !isTerminal || getenv("CLICOLOR") == "0":
		return NoColor
	}
	return named(getenv, goos)
}

// named is the depth of the terminal that the environment names.
func named(getenv func(string) string, goos string) Depth {
	term := strings.ToLower(getenv("TERM"))
	switch colorterm := strings.ToLower(getenv("COLORTERM")); {
	case term == "dumb":
		return NoColor
	case colorterm == "truecolor" || colorterm == "24bit":
		return TrueColor
	case strings.HasSuffix(term, "-direct") || hasAny(term, "kitty", "ghostty", "alacritty", "wezterm", "foot"):
		return TrueColor
	case hasAny(getenv("TERM_PROGRAM"), "iTerm.app", "vscode", "WezTerm", "ghostty"):
		return TrueColor
	case getenv("WT_SESSION") != "" || term == "" && goos == "windows": // consoles since Windows 10
		return TrueColor
	case strings.Contains(term, "256color") || colorterm != "":
		return Color256
	case term == "":
		return NoColor
	}
	return Color16
}

func hasAny(s string, names ...string) bool {
	for _, n := range names {
		if strings.Contains(s, n) {
			return true
		}
	}
	return false
}
