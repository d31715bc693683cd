package tool

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Bounds of named shells.
const (
	mostShells = 16
	stateMax   = 1 << 20 // bytes of one shell's state
)

// Shells are the named shells of an agent. No process waits between two commands of such a shell: each command is a new
// one, which starts with the state in which the last one ended, in the sandbox and with the permissions of its own
// call. So a command that crashes or is ended loses nothing but its own changes. Safe for concurrent use.
type Shells struct {
	mu     sync.Mutex
	shells map[string]*namedShell
}

// namedShell is one of them.
type namedShell struct {
	name string
	kind string
	dir  *Dir

	mu    sync.Mutex
	used  bool
	state string // a script that restores variables, functions, aliases and options
	inner bool   // a confined command wrote the state
}

var shellName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// find returns a shell, a new one in dir where there is none of this name. It is nil without a name.
func (s *Shells) find(name string, sh shellProgram, dir string) (*namedShell, error) {
	if name == "" {
		return nil, nil
	}
	if s == nil || sh.kind == "sh" {
		return nil, errors.New("shell_id needs bash or zsh, and neither is here: leave shell_id out, and set what the " +
			"command needs in the command itself")
	}
	if !shellName().MatchString(name) {
		return nil, fmt.Errorf("shell_id %q is no name for a shell: use up to 64 letters, digits, dots, dashes and "+
			"underscores", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.shells[name]; n != nil && n.kind == sh.kind {
		return n, nil
	}
	if len(s.shells) >= mostShells {
		return nil, fmt.Errorf("there are %d named shells already; use one of them: %s", mostShells,
			strings.Join(s.names(), ", "))
	}
	if s.shells == nil {
		s.shells = map[string]*namedShell{}
	}
	n := &namedShell{name: name, kind: sh.kind, dir: NewDir(dir)}
	s.shells[name] = n
	return n, nil
}

// names are the names of the shells, sorted. The lock is held.
func (s *Shells) names() []string { return slices.Sorted(maps.Keys(s.shells)) }

// env is for a command of the shell, which has its own working folder.
func (n *namedShell) env(e *Commands) *Commands {
	if n == nil {
		return e
	}
	own, here := *e, *e.Files
	here.Dir = n.dir
	own.Files = &here
	return &own
}

// begin returns a note on the first command of a shell.
func (n *namedShell) begin() (note string) {
	if n == nil {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.used {
		return ""
	}
	n.used = true
	return fmt.Sprintf("(Shell %q is new: it has no variables or functions of earlier commands.)", n.name)
}

// plain reports whether the words of the next command mean the same as in a new shell: nothing is defined but options
// that do not change what a word is. Anything that it does not know counts as a change.
func (n *namedShell) plain() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for line := range strings.Lines(n.state) {
		option, ok := strings.CutPrefix(strings.TrimSpace(line), "shopt -")
		if ok && len(option) > 2 && (option[0] == 'u' || usual(option[2:])) || strings.TrimSpace(line) == ":" {
			continue
		}
		return false
	}
	return true
}

// usual reports whether a new bash that is not interactive has the option on.
func usual(option string) bool {
	return slices.Contains(strings.Fields("checkwinsize cmdhist complete_fullquote expand_aliases extquote "+
		"force_fignore globasciiranges globskipdots "+
		"hostcomplete interactive_comments patsub_replacement progcomp promptvars sourcepath"), option)
}

// stateScripts are the parts of a command line that carry state.
type stateScripts struct {
	before string // defines the function that writes the state at the end
	last   string // restores it
}

// scripts are those for the next command of the shell. The state of a confined command may hold anything, so it does
// not go to one outside of the sandbox.
func (n *namedShell) scripts(sh shellProgram, cwd cwdFile, confined bool) stateScripts {
	if n == nil {
		return stateScripts{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	before := bashState
	if sh.kind == "zsh" {
		before = zshState
	}
	state := n.state
	if n.inner && !confined {
		state = ""
	}
	return stateScripts{fmt.Sprintf(before, quote(cwd.state().inside)), state}
}

// keepState takes over the state in which the command left its shell.
func (c *bashCall) keepState(p *bashProc) {
	if c.named == nil {
		return
	}
	if note := c.named.begin(); note != "" {
		c.notes = append(c.notes, note)
	}
	state, err := p.cwd.state().content(stateMax)
	switch {
	case errors.Is(err, errStateLong):
		c.notes = append(c.notes, fmt.Sprintf("Shell %q keeps the state from before this command: the new one is longer "+
			"than %s.", c.named.name, size(stateMax)))
	case err != nil || state == "":
		c.notes = append(c.notes, fmt.Sprintf("Shell %q keeps the state from before this command, because it did not end "+
			"by itself.", c.named.name))
	default:
		c.named.mu.Lock()
		c.named.state, c.named.inner = state, p.run != nil
		c.named.mu.Unlock()
	}
}

var errStateLong = errors.New("the state is too long")

// content is what a regular file holds, up to a limit.
func (c cwdFile) content(limit int64) (string, error) {
	f, err := openPlain(c.path) // a command could put a link or a pipe there, also while it is opened
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !fi.Mode().IsRegular():
		return "", os.ErrInvalid
	case fi.Size() > limit:
		return "", errStateLong
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(b)) > limit {
		return "", errStateLong
	}
	return string(b), err
}

// The scripts that write a shell's state. Variables of the environment that have the value of the start are left out,
// because the next command may get another one; so are those that the shell itself sets: bash also gives itself a PATH,
// SHELL and TERM where the environment has none. The subshell keeps the options that it needs from the command.
const (
	bashState = `__lathe_env=$(compgen -e; echo PATH SHELL TERM)
for __lathe_n in $__lathe_env; do printf -v "__lathe_was_$__lathe_n" %%s "${!__lathe_n}"; done
__lathe_state() { ( builtin set +euxf; IFS=$' \t\n'
for __lathe_n in $__lathe_env; do [ -n "${!__lathe_n+x}" ] || echo "unset -v $__lathe_n"; done
for __lathe_n in $(compgen -v); do
case $__lathe_n in __lathe_*|_|BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|HOSTNAME|HOSTTYPE|IFS|LINENO|MACHTYPE|OLDPWD|OPTERR|OPTIND|OSTYPE|PIPESTATUS|PPID|PS4|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID) continue;; esac
__lathe_w=__lathe_was_$__lathe_n; [ -n "${!__lathe_w+x}" ] && [ "${!__lathe_w}" = "${!__lathe_n}" ] && continue
builtin declare -p "$__lathe_n"; done
for __lathe_n in $(compgen -A function); do case $__lathe_n in __lathe_*|trap) ;; *) builtin declare -f "$__lathe_n";; esac; done
builtin shopt -p; builtin alias -p; echo : ) >|%[1]s 2>/dev/null; }
`
	zshState = `typeset -A __lathe_was; __lathe_was=()
for __lathe_n in ${(k)parameters[(R)*export*]}; do __lathe_was[$__lathe_n]=${(P)__lathe_n}; done
__lathe_state() { ( emulate -L zsh; local __lathe_n
for __lathe_n in ${(k)__lathe_was}; do (( ${+parameters[$__lathe_n]} )) || print -r -- "unset $__lathe_n"; done
for __lathe_n in ${(k)parameters}; do
case $__lathe_n in (__lathe_*|_|PWD|OLDPWD|SHLVL) continue;; esac
case ${parameters[$__lathe_n]} in (*readonly*|*local*|undefined) continue;; (*special*) [[ $__lathe_n == PATH ]] || continue;; esac
(( ${+__lathe_was[$__lathe_n]} )) && [[ ${__lathe_was[$__lathe_n]} == ${(P)__lathe_n} ]] && continue
typeset -p $__lathe_n; done
for __lathe_n in ${(k)functions}; do case $__lathe_n in (__lathe_*|zshexit|TRAP*) ;; (*) functions $__lathe_n;; esac; done
alias -L; print : ) >|%[1]s 2>/dev/null; }
`
)
