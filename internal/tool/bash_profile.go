package tool

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Values of the setting bash.profile.
const (
	ProfileOff         = "off"
	ProfileEnvironment = "environment" // the variables that the profile exports
	ProfileFunctions   = "functions"   // and the functions that it defines
)

const (
	profileTime = 10 * time.Second
	profileMax  = 4 << 20   // bytes of its output
	functionMax = 512 << 10 // bytes of functions that commands get
)

// Profile is what the start-up files of the user's shell set. The first command that needs it runs the shell once with
// these files; commands themselves are run without them. Safe for concurrent use.
type Profile struct {
	mode string

	mu        sync.Mutex
	done      bool
	exported  map[string]string
	functions string // as the shell prints them
}

// For is the Profile of a mode, p itself if it is of this mode; nil for ProfileOff.
func (p *Profile) For(mode string) *Profile {
	if p != nil && p.mode == mode {
		return p
	}
	if mode != ProfileEnvironment && mode != ProfileFunctions {
		return nil
	}
	return &Profile{mode: mode}
}

// take reads the profile, if that was not tried before. note is for the result of the call that tried in vain.
func (p *Profile) take(ctx context.Context, env *Commands, sh shellProgram) (note string) {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return ""
	}
	err := p.read(ctx, env, sh)
	if ctx.Err() != nil {
		return "" // the call was interrupted, and the next one tries again
	}
	if p.done = true; err != nil {
		return fmt.Sprintf("(The start-up files of %s could not be used: %v. Commands run in lathe's own environment; "+
			"`\"bash\": {\"profile\": \"off\"}` in the settings stops trying.)", sh.kind, err)
	}
	return ""
}

// startUp is the user's start-up files of a shell: login reports that a login shell reads one of them.
func startUp(env *Commands, kind string) (login, any bool) {
	home := env.Machine().Home()
	files, logins := []string{".profile"}, 1
	switch kind {
	case "bash":
		files, logins = []string{".bash_profile", ".bash_login", ".profile", ".bashrc"}, 3
	case "zsh":
		if dir := env.variable("ZDOTDIR"); dir != "" {
			home = dir
		}
		files, logins = []string{".zprofile", ".zlogin", ".zshrc", ".zshenv"}, 2
	}
	for i, name := range files {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			any, login = true, login || i < logins
		}
	}
	return login, any
}

// read runs the shell with the start-up files and has it print its environment, and its functions.
func (p *Profile) read(ctx context.Context, env *Commands, sh shellProgram) error {
	login, any := startUp(env, sh.kind)
	if !any {
		return nil
	}
	mark := "\x00lathe-" + rand.Text() + "\x00"
	printMark := `printf '\0%s\0' ` + strings.Trim(mark, "\x00") + "; "
	script := printMark + "/usr/bin/env -0; " + printMark
	if p.mode == ProfileFunctions && sh.kind != "sh" {
		script += "typeset -f; " + printMark
	}
	argv := []string{sh.path}
	if login {
		argv = append(argv, "-l")
	}
	if sh.kind != "sh" {
		argv = append(argv, "-i")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, profileTime, fmt.Errorf("they took longer than %s", profileTime))
	defer cancel()
	out := &profileOutput{}
	exit, err := env.Runner.Run(ctx, sandbox.Spec{
		Argv: append(argv, "-c", script), Dir: env.Machine().Home(), Env: sandbox.CleanEnv(env.environ(), env.ChildEnv),
		Stdout: out,
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	parts := strings.Split(out.String(), mark)
	if len(parts) < 3 {
		return fmt.Errorf("the shell ended in them with exit code %d", exit.Code)
	}
	p.exported = exported(parts[1])
	if len(parts) > 3 && len(parts[2]) <= functionMax {
		p.functions = parts[2]
	}
	return nil
}

// profileOutput keeps the first bytes that are written to it.
type profileOutput struct{ bytes.Buffer }

func (o *profileOutput) Write(p []byte) (int, error) {
	if o.Len()+len(p) > profileMax {
		return 0, errors.New("they print too much")
	}
	return o.Buffer.Write(p)
}

func exported(environ string) map[string]string {
	out := map[string]string{}
	for kv := range strings.SplitSeq(environ, "\x00") {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && !slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_", "LATHE", "CLAUDECODE"}, name) {
			out[name] = value
		}
	}
	return out
}

// over is an environment with the variables of the profile that it has not, and the folders of both PATHs.
func (p *Profile) over(environ []string) []string {
	if p == nil {
		return environ
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	more := map[string]string{}
	for name, value := range p.exported {
		more[name] = value
	}
	path := ""
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			path = value
		}
		delete(more, name)
	}
	if theirs := p.exported["PATH"]; theirs != "" {
		more["PATH"] = joinPaths(path, theirs)
	}
	out := slices.DeleteFunc(slices.Clone(environ),
		func(kv string) bool { return more["PATH"] != "" && strings.HasPrefix(kv, "PATH=") })
	for name, value := range more {
		out = append(out, name+"="+value)
	}
	slices.Sort(out[len(out)-len(more):])
	return out
}

// joinPaths is the PATH of the profile after the folders that only lathe's own has: a virtual environment that was
// activated where lathe was started, and that a profile which sets PATH anew would lose.
func joinPaths(ours, theirs string) string {
	known := filepath.SplitList(theirs)
	var front []string
	for _, dir := range filepath.SplitList(ours) {
		if !slices.Contains(known, dir) {
			front = append(front, dir)
		}
	}
	return strings.Join(append(front, known...), string(filepath.ListSeparator))
}

// defined is the functions of the profile.
func (p *Profile) defined() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.functions
}
