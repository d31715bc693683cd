package cli

import (
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// invocation is a command line after the reading that pflag cannot do: which words are the prompt, whether
// the first is a subcommand, and which word belongs to --resume.
type invocation struct {
	args    []string // for cobra
	command bool     // the first word names a subcommand
	doubt   error    // the first word nearly names one: a person confirms that it begins a prompt
}

// completing reports whether a shell asks for completions.
func (inv invocation) completing() bool {
	return len(inv.args) > 0 && strings.HasPrefix(inv.args[0], "__complete")
}

// splitArgs sorts the words into subcommand, prompt and values of flags.
//
//   - With -p or --print anywhere, every word is the prompt: `lathe -p mcp is broken`.
//   - Else a first word that names a subcommand is one. The names of subcommands to come are kept for them. One that
//     nearly names a subcommand (`lathe docter`) is in doubt: it may be a mistake, and a prompt costs money.
//   - --resume and --worktree take the next argument if that is one word: `--resume 0190 "go on"`, `--resume "go on"`.
//   - --allowedTools, --disallowedTools and --tools also take further arguments that can only be rules or
//     tools, --add-dir such that name a folder: `--add-dir ../a ../b "go on"`.
func splitArgs(args []string) (invocation, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") { // a shell asks; its words are data
		return invocation{args: args, command: true}, nil
	}
	f := promptFlagSet()
	var inv invocation
	var words []string
	print := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			inv.args = append(inv.args, args[i:]...)
			words = append(words, args[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			words = append(words, a)
			inv.args = append(inv.args, a)
			continue
		}
		taken, p := readFlag(f, args[i:], &inv)
		i += taken - 1
		print = print || p
		if len(words) > 0 && !print && isCommand(words[0]) { // the subcommand's own flags follow
			inv.args = append(inv.args, args[i+1:]...)
			break
		}
	}
	if print || len(words) == 0 {
		return inv, nil
	}
	inv.command = isCommand(words[0])
	if !inv.command {
		return checkTypo(inv, words)
	}
	return inv, nil
}

// promptFlagSet is the flag set of a prompt run, for looking flags up.
func promptFlagSet() *pflag.FlagSet {
	f := pflag.NewFlagSet("lathe", pflag.ContinueOnError)
	f.SetNormalizeFunc(normalize)
	addAllFlags(f, &Options{})
	f.BoolP("help", "h", false, "help")
	return f
}

func addAllFlags(f *pflag.FlagSet, o *Options) {
	addPromptFlags(f, o)
	addModelFlags(f, o)
	addPermissionFlags(f, o)
	addPlaceFlags(f, o)
	addCompatFlags(f)
}

// readFlag appends the flag at args[0], with its values, to inv.args. It returns how many arguments
// it took and whether it was --print.
func readFlag(f *pflag.FlagSet, args []string, inv *invocation) (taken int, print bool) {
	a := args[0]
	if !strings.HasPrefix(a, "--") {
		return readShort(args, inv)
	}
	name, _, hasValue := strings.Cut(a[2:], "=")
	fl := f.Lookup(name)
	switch {
	case fl == nil || hasValue:
		inv.args = append(inv.args, a)
		return 1, fl != nil && fl.Name == "print"
	case fl.Name == "resume", fl.Name == "worktree":
		return readOptional(fl.Name, args, inv), false
	case fl.NoOptDefVal != "": // a bool
		inv.args = append(inv.args, a)
		return 1, fl.Name == "print"
	case len(args) == 1:
		inv.args = append(inv.args, a) // pflag reports the missing value
		return 1, false
	}
	more := listFlags[fl.Name]
	for taken = 1; taken == 1 || taken < len(args) && more != nil && more(args[taken]); taken++ {
		inv.args = append(inv.args, a+"="+args[taken])
	}
	return taken, false
}

// listFlags are flags that take several arguments, each with the test that separates them from a prompt. Claude Code's
// take all up to the next flag, and eat a prompt that follows.
var listFlags = map[string]func(string) bool{
	"allowedTools": looksLikeRule, "disallowedTools": looksLikeRule, "tools": looksLikeRule, "add-dir": looksLikeFolder,
	"betas": looksLikeBeta,
}

// looksLikeBeta distinguishes a value of the header anthropic-beta from a prompt: such names end in a date.
func looksLikeBeta(s string) bool {
	if len(s) < len(time.DateOnly) || strings.ContainsFunc(s, unicode.IsSpace) {
		return false
	}
	_, err := time.Parse(time.DateOnly, s[len(s)-len(time.DateOnly):])
	return err == nil
}

// looksLikeFolder distinguishes a folder from a prompt: it exists, or it is written as a path.
func looksLikeFolder(s string) bool {
	if s == "" || s[0] == '-' {
		return false
	}
	info, err := os.Stat(s)
	if err == nil {
		return info.IsDir()
	}
	return !strings.ContainsFunc(s, unicode.IsSpace) && strings.ContainsAny(s, `/\`)
}

// readShort reads "-p", "-pc", "-r", "-r0190abcd".
func readShort(args []string, inv *invocation) (taken int, print bool) {
	a := args[0]
	if a == "-w" {
		return readOptional("worktree", args, inv), false
	}
	i := strings.IndexByte(a, 'r')
	if i < 0 || strings.Trim(a[1:i], "pcvhd") != "" { // unknown letters: pflag complains
		inv.args = append(inv.args, a)
		return 1, strings.Trim(a[1:], "pcvhd") == "" && strings.Contains(a, "p")
	}
	if i > 1 {
		inv.args = append(inv.args, a[:i])
	}
	print = strings.Contains(a[:i], "p")
	if rest := strings.TrimPrefix(a[i+1:], "="); rest != "" {
		inv.args = append(inv.args, "--resume="+rest)
		return 1, print
	}
	return readOptional("resume", args, inv), print
}

// readOptional reads a flag whose value may be left out: a single word that follows is its value.
func readOptional(name string, args []string, inv *invocation) int {
	if len(args) > 1 && isWord(args[1]) {
		inv.args = append(inv.args, "--"+name+"="+args[1])
		return 2
	}
	inv.args = append(inv.args, "--"+name)
	return 1
}

// isWord distinguishes a session id from a prompt or a flag.
func isWord(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, unicode.IsSpace)
}

// checkTypo looks at a first word that is nearly a subcommand, or will be one. A longer text in one argument is a
// prompt.
func checkTypo(inv invocation, words []string) (invocation, error) {
	w := words[0]
	if strings.ContainsFunc(w, unicode.IsSpace) {
		return inv, nil
	}
	hint := `to send it to the model: lathe -p "` + strings.Join(words, " ") + `"`
	if slices.Contains(reservedNames, w) {
		return inv, usage(hint, "the command %q is not there yet; its name is kept for it", w)
	}
	near, d := fuzzy.Nearest(w, slices.Concat(commandNames, reservedNames), 2)
	if len(w) >= 4 && d <= 2 && d*3 <= len(near) {
		inv.doubt = usage(hint, "there is no command %q; did you mean %q?", w, near)
	}
	return inv, nil
}

func isCommand(s string) bool { return slices.Contains(commandNames, s) }
