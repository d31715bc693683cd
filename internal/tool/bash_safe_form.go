package tool

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// safeForm is how a command that is read-only, or edits files that it names, runs: by bash, as the analysis read it,
// with nothing of the user's environment that could make it mean something else.
type safeForm struct {
	bash   string   // its path
	script string   // the command
	path   []string // where it finds programs
	moves  bool     // it may change the folder
	reads  bool     // it is read-only
	git    bool     // it runs git
}

// analyse reports the command's effects. safe is nil where the command has no safe form.
func (c *bashCall) analyse() (accesses []permission.Access, safe *safeForm, err error) {
	w := c.env.Machine()
	accesses, err = bashAccesses(c.in, call.Place{World: w, Dir: c.dir, Resolve: c.env.look})
	if err != nil || len(accesses) == 0 {
		return nil, nil, err
	}
	command := accesses[0].Command
	if c.plain = c.named.plain(); c.plain {
		command.Kept = false
	}
	if !command.Plain() {
		return accesses, nil, nil
	}
	safe = &safeForm{
		bash: w.Program("bash", c.dir), script: c.in.Command, path: w.toolDirs(), reads: command.Class.ReadOnly(),
	}
	for _, p := range command.Parts {
		safe.git = safe.git || p.Program == "git"
		safe.moves = safe.moves || slices.Contains([]string{"cd", "pushd", "popd", "", "exit"}, p.Program)
	}
	return accesses, safe, nil
}

// environ is the environment of the command: a clean one when it is read-only, else the user's without
// lathe's own variables and those that make programs do something else.
func (c *bashCall) environ(ctx context.Context) ([]string, error) {
	env, err := c.environOf(ctx)
	if err != nil {
		return nil, err
	}
	if c.safe != nil && !c.safe.git {
		return env, nil // it can run no git
	}
	path, err := c.env.attributes(c.env.Machine().Home())
	if err != nil {
		return nil, fmt.Errorf("git could show secrets, because its attributes cannot be written: %w", err)
	}
	return git.WithConfig(env, "core.attributesFile", path), nil
}

func (c *bashCall) environOf(ctx context.Context) ([]string, error) {
	if c.safe == nil {
		clean := c.env.ChildEnv
		// an unapproved command gets keys as little from variables as from files
		clean.ScrubCredentials = clean.ScrubCredentials || c.reach.Unasked()
		return sandbox.CleanEnv(c.env.Profile.over(c.env.environ()), clean), nil
	}
	var more []string
	if c.safe.git {
		g := git.New(c.env.Runner).WithEnviron(c.env.environ)
		var err error
		if more, err = g.ReadOnlyEnv(ctx, c.dir); err != nil {
			return nil,
				fmt.Errorf("git cannot be run safely here: %w. Look at the repository's files with Read, or ask the user", err)
		}
	}
	return sandbox.ReadOnlyEnv(c.env.environ(), c.safe.path, more), nil
}

// argv is the command line that runs the command; cleanup removes the files made for it.
func (c *bashCall) argv(cwd cwdFile, confined bool) (argv []string, cleanup func(), err error) {
	if c.safe == nil {
		return c.shell.argv(c.in.Command, c.env.Profile.defined(), c.named.scripts(c.shell, cwd, confined), cwd)
	}
	if !c.safe.moves && len(c.safe.script) <= argLimit {
		return []string{c.safe.bash, "--noprofile", "--norc", "-c", c.safe.script}, func() {}, nil
	}
	return bashAt(c.safe.bash).argv(c.safe.script, "", stateScripts{}, cwd)
}

func bashAt(path string) shellProgram { return shellProgram{path, "bash"} }

// place is the working folder as Prepare saw it.
type place struct {
	dir  string
	real string // with its links resolved
	info fs.FileInfo
	gone string // the folder that should have been it
}

// here is the folder in which a command would run now: that of the session, or the nearest one above that exists when
// that is gone.
func (e *Files) here() place {
	p := placeAt(e.Dir.Get())
	if p.info != nil && p.info.IsDir() {
		return p
	}
	for dir := filepath.Dir(p.dir); ; dir = filepath.Dir(dir) {
		near := placeAt(dir)
		if near.info != nil && near.info.IsDir() || dir == filepath.Dir(dir) {
			near.gone = p.dir
			return near
		}
	}
}

func placeAt(dir string) place {
	p := place{dir: dir}
	p.info, _ = os.Stat(dir)
	p.real, _ = files.FollowLinks(dir)
	return p
}

// settle makes sure that a command runs in the folder for which it was approved: not in another one that
// took its name, or that the session went to meanwhile.
func (e *Files) settle(was place) error {
	now := e.here()
	same := was.info != nil && now.info != nil && os.SameFile(was.info, now.info)
	if now.dir == was.dir && now.real == was.real && (same || was.info == nil && now.info == nil) {
		return nil
	}
	return fmt.Errorf("the working folder was %s when this command was looked at and is another one now; call again",
		was.dir)
}
