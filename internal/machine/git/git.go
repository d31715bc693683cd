// Package git runs the git program, always in an environment in which the repository cannot make it run
// anything else, and reads the little that needs no program.
//
// A repository is foreign: its configuration may name programs that plain git starts during a mere
// status (core.fsmonitor, hooks, filters, external diffs, pagers, signature checkers). [Git.Run] therefore
// overrides those keys, removes every GIT_* variable, takes no repository that is only a folder with the
// right names in it, and bounds time and output. [Find] parses .git by itself: no process, microseconds.
//
// Promises: but for [Git.AddWorktree] and [Git.RemoveUnchanged] nothing writes to the repository or takes its locks,
// and
// nothing speaks to the network; a broken
// repository, or none, or no git program, is an answer and not an error.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

const (
	defaultTimeout = 3 * time.Second
	defaultOutput  = 1 << 20
)

// ErrNotInstalled says that there is no git program, or only one inside the work tree, which is not run.
var ErrNotInstalled = errors.New("git is not installed")

// ErrTooMuch means that git wrote more than the limit; the output until then is returned with it.
var ErrTooMuch = errors.New("git wrote more than lathe reads")

// Git runs the git program. The zero value is not usable; see New.
type Git struct {
	runner  *sandbox.Runner
	environ func() []string

	Timeout   time.Duration // of one run; 3 s
	MaxOutput int           // bytes; 1 MiB
}

// New returns a Git that starts its processes with r.
func New(r *sandbox.Runner) *Git {
	return &Git{runner: r, environ: os.Environ, Timeout: defaultTimeout, MaxOutput: defaultOutput}
}

// WithEnviron makes git see environ (cleaned and hardened) instead of lathe's own environment.
func (g *Git) WithEnviron(environ func() []string) *Git {
	c := *g
	c.environ = environ
	return &c
}

// Run runs git with args in repo and returns its standard output. The error holds git's message.
func (g *Git) Run(ctx context.Context, repo Repo, args ...string) ([]byte, error) {
	program, err := g.program(repo.Root)
	if err != nil {
		return nil, err
	}
	over, err := g.overrides(ctx, program, repo, allScopes)
	if err != nil {
		return nil, err
	}
	return g.run(ctx, program, repo, over, nil, args)
}

func (g *Git) run(ctx context.Context, program string, repo Repo, over [][2]string, stdin io.Reader, args []string) (
	[]byte, error,
) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.Timeout, fmt.Errorf("git took longer than %s", g.Timeout))
	defer cancel()
	out := &capped{limit: g.MaxOutput, stop: cancel}
	said := &capped{limit: 4 << 10, stop: func() {}}
	exit, err := g.runner.Run(ctx, sandbox.Spec{
		Argv: append([]string{program, "--no-pager"}, withoutSubmodules(args)...), Dir: repo.Root,
		Env: harden(g.environ(), repo, over), Stdin: stdin, Stdout: out, Stderr: said, Grace: 100 * time.Millisecond,
		Reads: onlyReads(args),
	})
	switch {
	case out.full:
		return out.buf.Bytes(), ErrTooMuch
	case err != nil:
		return nil, err
	case exit.Code != 0:
		line, _, _ := strings.Cut(strings.TrimSpace(said.buf.String()), "\n")
		return nil, fmt.Errorf("git %s: exit code %d: %s", args[0], exit.Code, line)
	}
	return out.buf.Bytes(), nil
}

// withoutSubmodules keeps git from running itself in submodules, with the filters that they name, to tell whether
// they were changed. A .gitmodules file overrules the configuration, but not a flag.
func withoutSubmodules(args []string) []string {
	switch args[0] {
	case "status", "diff", "diff-files", "diff-index":
		return slices.Insert(slices.Clone(args), 1, "--ignore-submodules=dirty")
	}
	return args
}

// onlyReads reports whether a command of lathe's writes nothing, so that it can run in a read-only sandbox.
func onlyReads(args []string) bool {
	switch args[0] {
	case "status", "diff", "log", "ls-files", "rev-parse", "cat-file":
		return true
	case "config":
		return slices.Contains(args, "--list")
	}
	return false
}

// capped keeps the first limit bytes and stops git when there is more.
type capped struct {
	buf   bytes.Buffer
	limit int
	full  bool
	stop  func()
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.limit - c.buf.Len()
	c.buf.Write(p[:min(room, len(p))])
	if room < len(p) && !c.full {
		c.full = true
		c.stop()
	}
	return len(p), nil
}

// program finds git along the absolute entries of PATH, and not in the work tree, where anybody may have
// put one.
func (g *Git) program(root string) (string, error) {
	path := ""
	for _, kv := range g.environ() { // the last one counts, as in os/exec
		if name, value, _ := strings.Cut(kv, "="); strings.EqualFold(name, "PATH") {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || within(root, dir) {
			continue
		}
		if p, err := exec.LookPath(filepath.Join(dir, "git")); err == nil {
			return p, nil
		}
	}
	return "", ErrNotInstalled
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// fixed are the configuration keys that are always overridden, with the programs they would otherwise run:
// fsmonitor and hooks during status, the program that checks signatures during log, a pager, the ext:: transport, a
// program that lists the references of an alternate. safe.bareRepository makes git refuse a folder that only looks like
// a repository. Measured with git 2.39.
var fixed = [][2]string{
	{"core.fsmonitor", "false"},
	{"core.hooksPath", os.DevNull},
	{"gpg.program", "false"},
	{"gpg.ssh.program", "false"},
	{"gpg.x509.program", "false"},
	{"log.showSignature", "false"},
	{"safe.bareRepository", "explicit"},
	{"core.pager", "cat"},
	{"core.sshCommand", "false"},
	{"core.askPass", "false"},
	{"core.editor", "false"},
	{"credential.helper", ""},
	{"protocol.ext.allow", "never"},
	{"core.alternateRefsCommand", "false"},
	{"core.untrackedCache", "keep"},
	{"submodule.recurse", "false"},
	{"diff.ignoreSubmodules", "dirty"},
	{"diff.submodule", "short"},
	{"status.submoduleSummary", "false"},
	{"column.ui", "never"},
	{"color.ui", "never"},
}

// harden returns environ without any GIT_* variable and with the overrides.
func harden(environ []string, repo Repo, over [][2]string) []string {
	env := sandbox.CleanEnv(environ, sandbox.Options{Drop: []string{
		"GIT_*", "*PAGER", "SSH_ASKPASS*", "PERL5*",
		"PYTHON*",
	}})
	out := env[:0]
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_") { // CleanEnv sets a few of its own
			out = append(out, kv)
		}
	}
	out = append(out, "PAGER=cat", "LC_ALL=C", "GIT_EXTERNAL_DIFF=",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(repo.Root), "GIT_WORK_TREE="+repo.Root)
	return append(out, hardening(append([][2]string{{"diff.external", ""}}, over...))...)
}

// hardening are the variables that keep git from running other programs, taking locks and asking.
func hardening(over [][2]string) []string {
	out := []string{
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_ASKPASS=false", "GIT_SSH_COMMAND=false", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=",
	}
	pairs := append(append([][2]string{}, fixed...), over...)
	out = append(out, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(pairs)))
	for i, p := range pairs {
		out = append(out, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, p[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, p[1]))
	}
	return out
}

// scopes chooses files by the names that git config --show-scope gives them.
type scopes func(scope string) bool

func allScopes(s string) bool  { return s != "command" }
func repository(s string) bool { return s == "local" || s == "worktree" }

// overrides empties the settings that the repository's own configuration names freely: filters,
// and the commands of diff and merge drivers. Where no configuration file can hold any, no process is
// started to ask.
func (g *Git) overrides(ctx context.Context, program string, repo Repo, in scopes) ([][2]string, error) {
	if !mayNamePrograms(repo) {
		return nil, nil
	}
	list, err := g.run(ctx, program, repo, nil, nil, []string{
		"config", "--includes", "--list", "--name-only",
		"--show-scope", "-z",
	})
	if err != nil {
		return nil, fmt.Errorf("the repository's configuration cannot be read: %w", err)
	}
	var over [][2]string
	fields := strings.Split(string(list), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if scope, key := fields[i], fields[i+1]; in(scope) {
			over = append(over, override(key)...)
		}
	}
	return over, nil
}

func override(key string) [][2]string {
	section, rest, _ := strings.Cut(key, ".")
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		if key == "diff.external" {
			return [][2]string{{key, ""}}
		}
		return nil
	}
	base := section + "." + rest[:i]
	switch section {
	case "filter":
		return [][2]string{
			{base + ".clean", ""},
			{base + ".smudge", ""},
			{base + ".process", ""},
			{base + ".required", "false"},
		}
	case "diff": // it cannot be unset, and an empty program cannot be run: such a diff fails
		if rest[i+1:] == "command" || rest[i+1:] == "textconv" {
			return [][2]string{{key, ""}}
		}
	case "merge":
		if rest[i+1:] == "driver" {
			return [][2]string{{key, "false"}}
		}
	case "credential":
		if rest[i+1:] == "helper" {
			return [][2]string{{key, ""}}
		}
	}
	return nil
}

// mayNamePrograms looks for the words without which a configuration has no filter, driver or include. Section
// names are written as they are, in any case (git-config(1)), so a search for the words is enough.
func mayNamePrograms(repo Repo) bool {
	for _, path := range []string{filepath.Join(repo.CommonDir, "config"), filepath.Join(repo.GitDir, "config.worktree")} {
		b, err := readSmall(path, 256<<10)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return true
		}
		text := strings.ToLower(string(b))
		for _, word := range [...]string{"filter", "include", "[diff", "[merge", "[credential"} {
			if strings.Contains(text, word) {
				return true
			}
		}
	}
	return false
}
