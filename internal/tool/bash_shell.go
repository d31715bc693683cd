package tool

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
)

// shellProgram is a program that runs commands.
type shellProgram struct {
	path string
	kind string // bash, zsh or sh
}

// ShellPath is the shell that Bash would run.
func (e *Commands) ShellPath() (string, error) {
	s, err := findShell(e)
	return s.path, err
}

// findShell takes the shell of the settings, else the user's if it is bash or zsh, else the first of
// bash, zsh and sh on the clean PATH, else on PATH.
func findShell(env *Commands) (shellProgram, error) {
	if env.Shell != "" {
		path, err := exec.LookPath(env.Shell)
		if err != nil {
			return shellProgram{}, fmt.Errorf("the shell of the settings, %s, cannot be run: %w; set bash.shell to bash or zsh",
				env.Shell, err)
		}
		return shellProgram{path, shellKind(path)}, nil
	}
	environ := slices.Clone(env.environ())
	slices.Reverse(environ) // the last one counts, as in os/exec
	for _, kv := range environ {
		path, ok := strings.CutPrefix(kv, "SHELL=")
		if kind := shellKind(path); ok && filepath.IsAbs(path) && kind != "sh" {
			if _, err := exec.LookPath(path); err == nil {
				return shellProgram{path, kind}, nil
			}
		}
	}
	w := env.Machine()
	for _, find := range []func(string) string{
		func(name string) string { return w.Program(name, "") },
		// all of PATH may be in the working folder (/)
		func(name string) string { path, _ := exec.LookPath(name); return path },
	} {
		for _, name := range [...]string{"bash", "zsh", "sh"} {
			if path := find(name); path != "" {
				return shellProgram{path, name}, nil
			}
		}
	}
	return shellProgram{}, fmt.Errorf("no shell was found; install bash, or set bash.shell to the path of one")
}

func shellKind(path string) string {
	switch name := strings.TrimSuffix(filepath.Base(path), ".exe"); name {
	case "bash", "zsh":
		return name
	}
	return "sh"
}

// The scripts that run before the command. Each sees to it that the folder in which the shell ends is
// written to a file: at the normal end, after exit, and when set -e ends the shell. Start-up files of the
// user are not read, so there are no aliases and functions of theirs.
//
// bash and sh: a trap on EXIT, which subshells do not inherit. A command may set its own; bash's trap is
// wrapped so that ours stays in front of it. The redirections come first so that set -x shows nothing of it.
// zsh: the function zshexit, which is independent of traps (zshmisc(1), Special Functions), and a trap on
// ZERR, because zsh 5.9 does not call zshexit when set -e ends it.
const (
	bashPrelude = `__lathe_cwd() { local __lathe_s=$?; [ "$BASH_SUBSHELL" = 0 ] && { builtin pwd -P >|%[1]s; __lathe_state; }; return $__lathe_s; }
__lathe_state() { :; }
trap() { builtin trap "$@" || return; [ "$BASH_SUBSHELL" != 0 ] || { __lathe_trap; } 2>/dev/null; }
__lathe_trap() { local t; t=$(builtin trap -p EXIT); case $t in *__lathe_cwd*) return;; esac
eval "set -- $t"; builtin trap -- "{ __lathe_cwd; } 2>/dev/null
${3-}" EXIT; }
builtin trap '{ __lathe_cwd; } 2>/dev/null' EXIT
`
	zshPrelude = `__lathe_cwd() { { builtin pwd -P >|%[1]s; __lathe_state; } 2>/dev/null; }
__lathe_state() { :; }
zshexit() { __lathe_cwd; }
trap '[[ ! -o errexit || $ZSH_SUBSHELL != 0 ]] || __lathe_cwd' ZERR
`
	shPrelude = `__lathe_cwd() { command pwd -P >|%[1]s; }
trap '{ __lathe_cwd; } 2>/dev/null' EXIT
`
)

// argLimit is below Linux's 128 KiB for one argument (MAX_ARG_STRLEN).
const argLimit = 120 << 10

// argv is the command line of the shell that runs command and leaves its last folder in cwd. A command
// too long for one argument goes through a file beside that, which cleanup removes; so do the functions of the profile
// and the state of a named shell.
func (s shellProgram) argv(command, functions string, state stateScripts, cwd cwdFile) (argv []string, cleanup func(),
	err error,
) {
	prelude, flags := shPrelude, []string{}
	switch s.kind {
	case "bash":
		prelude, flags = bashPrelude, []string{"--noprofile", "--norc"}
	case "zsh":
		prelude, flags = zshPrelude, []string{"-f"}
	}
	prelude = fmt.Sprintf(prelude, quote(cwd.inside))
	if runtime.GOOS == "windows" { // bash there says /c/x unless asked for C:/x
		prelude = strings.ReplaceAll(prelude, "pwd -P", "pwd -W")
	}
	var scripts []string
	cleanup = func() {
		for _, path := range scripts {
			os.Remove(path)
		}
	}
	script := func(text string) (inside string, err error) {
		path, err := writeScript(filepath.Dir(cwd.path), text)
		scripts = append(scripts, path)
		return quote(filepath.Join(filepath.Dir(cwd.inside), filepath.Base(path))), err
	}
	if functions != "" {
		path, err := script(functions)
		if err != nil {
			cleanup()
			return nil, nil, err
		}
		prelude += ". " + path + " 2>/dev/null\n"
	}
	prelude += state.before
	if state.last != "" {
		path, err := script(state.last)
		if err != nil {
			cleanup()
			return nil, nil, err
		}
		prelude += ". " + path + " 2>/dev/null\n"
	}
	run := "eval " + quote(" "+command)
	if len(run) > argLimit {
		path, err := script(command)
		if err != nil {
			cleanup()
			return nil, nil, err
		}
		run = `eval " $(cat ` + path + `)"`
	}
	name := filepath.Base(s.path)
	argv = append([]string{s.path}, flags...)
	return append(argv, "-c", prelude+run, name), cleanup, nil
}

// quote makes one word of s for every shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func writeScript(dir, command string) (string, error) {
	f, err := os.CreateTemp(dir, "lathe-*.sh") // mode 0600
	if err != nil {
		return "",
			fmt.Errorf("a command this long needs a temporary file: %w. Write the script with Write and run that file", err)
	}
	defer f.Close()
	if _, err := f.WriteString(command); err != nil {
		os.Remove(f.Name())
		return "",
			fmt.Errorf("a command this long needs a temporary file: %w. Write the script with Write and run that file", err)
	}
	return f.Name(), nil
}

// cwdFile is where the shell writes its last folder. The shell makes it; its name cannot be guessed.
type cwdFile struct {
	path   string
	inside string // its path for the command, which may have a /tmp of its own
}

// newCwdFile is one that a command in the sandbox, or in none, can write.
func newCwdFile(run *boundary.Run) cwdFile {
	var id [16]byte
	_, _ = rand.Read(id[:]) // crypto/rand.Read never fails
	name := "lathe-cwd-" + hex.EncodeToString(id[:])
	if run != nil {
		path, inside := run.PrivateFile(name)
		return cwdFile{path, inside}
	}
	path := filepath.Join(os.TempDir(), name)
	return cwdFile{path, path}
}

// cwdMax is the longest path of a working folder, in bytes; commands can write anything to the file.
const cwdMax = 16 << 10

// read returns the folder; ok is false when the shell did not get so far. The folder is empty when the shell
// had none any more, because it was removed.
func (c cwdFile) read() (dir string, ok bool) {
	text, err := c.content(cwdMax)
	return strings.TrimSuffix(text, "\n"), err == nil
}

func (c cwdFile) remove() {
	os.Remove(c.path)
	os.Remove(c.state().path)
}

// state is the file beside it for the state of a named shell.
func (c cwdFile) state() cwdFile { return cwdFile{c.path + ".state", c.inside + ".state"} }
