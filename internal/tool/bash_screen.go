package tool

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// needsScreen is the refusal of a command line with a program that only works on a screen with a person at it; empty for others. Options with
// which such a program works without one let it pass.
func needsScreen(command string) string {
	cmds, _, ok := splitCommands(command)
	if !ok {
		return ""
	}
	for _, c := range cmds {
		words := strings.Fields(c)
		words = words[assignments(words):]
		if len(words) == 0 {
			continue
		}
		name := filepath.Base(words[0])
		if hint := screenHint(name, words[1:]); hint != "" {
			return fmt.Sprintf("%s needs a terminal and a person at it, and Bash has neither, so it was not run. %s", name, hint)
		}
	}
	return ""
}

// screenHint is the next move in place of a program.
func screenHint(name string, args []string) string {
	given := func(options ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return a == "--help" || a == "--version" || slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(a, o) })
		})
	}
	switch name {
	case "vi", "vim", "nvim", "vimdiff":
		if !given("-c", "+", "-e", "-E", "-s", "-S", "--headless", "--cmd") {
			return "Read files with Read, change them with Edit or Write."
		}
	case "nano", "pico", "micro", "joe":
		if !given() {
			return "Read files with Read, change them with Edit or Write."
		}
	case "emacs":
		if !given("--batch", "-batch", "--script", "-script", "--daemon", "--eval") {
			return "Read files with Read, change them with Edit or Write."
		}
	case "top":
		if !given("-b", "-l", "-h", "-v") {
			return "Use `ps aux`, or `top -b -n 1`."
		}
	case "htop", "btop", "atop", "nvtop":
		if !given("-h", "-V", "-P") {
			return "Use `ps aux`, or `top -b -n 1`."
		}
	case "lazygit", "tig", "ranger", "nnn", "mc", "k9s":
		if !given("-h", "-v", "-V") {
			return "Use the commands that it stands for (git, ls, kubectl)."
		}
	case "watch":
		if !given("-h", "-v") {
			return "Run the command itself, again when you need it, or in a loop with run_in_background."
		}
	}
	return ""
}
