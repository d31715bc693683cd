package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// programs looks for the programs that lathe starts.
func (d *doctor) programs(ctx context.Context, cfg *config.Config) {
	d.program(ctx, "git", "git", "install git: without it lathe knows nothing of a project's history and changes")
	d.program(ctx, "ripgrep", "rg", "install ripgrep: without it Grep searches by itself, more slowly")
	path, err := shellOf(cfg)
	switch {
	case err != nil:
		d.add("shell", statusFail, "install bash, or set bash.shell", "%s", oneLineOf(err))
	case filepath.Base(path) == "sh":
		d.add("shell", statusWarn, "install bash: models write for it", "%s", path)
	default:
		d.ok("shell", "%s", path)
	}
}

// shellOf is the shell that commands are run with.
func shellOf(cfg *config.Config) (string, error) {
	env, err := tool.NewEnv(cfg.Paths().Dir)
	if err != nil {
		return "", err
	}
	env.Shell = cfg.Settings.Bash.Shell
	return env.ShellPath()
}

func (d *doctor) program(ctx context.Context, name, file, next string) {
	path, err := exec.LookPath(file)
	if err != nil {
		d.add(name, statusWarn, next, "not found on PATH")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r := sandbox.New()
	defer r.Close()
	var out bytes.Buffer
	exit, err := r.Run(ctx, sandbox.Spec{Argv: []string{path, "--version"}, Stdout: &out})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit code %d", exit.Code)
	}
	if err != nil {
		d.add(name, statusWarn, "reinstall it", "%s does not run: %s", path, oneLineOf(err))
		return
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	d.ok(name, "%s (%s)", first, path)
}

// folders tries the places lathe writes to.
func (d *doctor) folders(paths config.Paths) {
	if paths.DataHome == "" {
		d.add("folders", statusFail, "set HOME", "there is no home folder")
		return
	}
	for _, f := range []struct {
		name, path string
		bad        status
	}{
		{"settings folder", paths.ConfigHome, statusWarn}, // only config set writes there
		{"data folder", paths.DataHome, statusFail},
		{"state folder", paths.StateHome, statusFail},
	} {
		switch there, err := tryFolder(f.path); {
		case err != nil:
			d.add(f.name, f.bad, "make it writable, or choose another with HOME or the XDG_* variables", "%s: %s", f.path,
				oneLineOf(err))
		case !there:
			d.ok(f.name, "%s (made when needed)", shortHome(f.path))
		case f.name != "settings folder" && openToOthers(f.path):
			d.add(f.name, statusWarn, "chmod 700 "+f.path, "%s can be read by others, and conversations are in it", f.path)
		default:
			d.ok(f.name, "%s", shortHome(f.path))
		}
	}
	d.space(paths.DataHome)
}

// tryFolder makes and removes a file in a folder, or in the nearest one above it that exists: only trying
// finds read-only disks and full ones.
func tryFolder(path string) (there bool, err error) {
	at := nearestFolder(path)
	st, err := os.Stat(at)
	switch {
	case err != nil:
		return false, err
	case !st.IsDir():
		return false, fmt.Errorf("%s is not a folder", at)
	}
	f, err := os.CreateTemp(at, ".lathe-doctor-*")
	if err != nil {
		return false, err
	}
	_, err = f.WriteString("lathe doctor\n")
	return at == path, errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// nearestFolder is the path, or the nearest one above it that exists.
func nearestFolder(path string) string {
	for {
		_, err := os.Lstat(path)
		up := filepath.Dir(path)
		below := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !below || up == path {
			return path
		}
		path = up
	}
}

func openToOthers(path string) bool {
	st, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0
}

const (
	littleSpace = 1 << 30
	noSpace     = 50 << 20
)

func (d *doctor) space(path string) {
	free, err := freeSpace(nearestFolder(path))
	switch {
	case err != nil:
		d.add("disk", statusWarn, "check it with df", "the free space is not known: %s", oneLineOf(err))
	case free < noSpace:
		d.add("disk", statusFail, "make room: a session that cannot be written ends its turn", "%s free",
			bytesOf(int64(free)))
	case free < littleSpace:
		d.add("disk", statusWarn, "make room", "%s free", bytesOf(int64(free)))
	default:
		d.ok("disk", "%s free", bytesOf(int64(min(free, 1<<62))))
	}
}

// sessions counts the stored sessions and looks at the ends of each.
func (d *doctor) sessions(ctx context.Context, paths config.Paths) {
	if paths.DataHome == "" {
		return
	}
	n, bad, size := 0, 0, int64(0)
	for info, err := range session.NewStore(paths.DataHome).List("") {
		if ctx.Err() != nil {
			return
		}
		if info.ID == "" && err != nil {
			d.add("sessions", statusFail, "make the folder readable", "%s", oneLineOf(err))
			return
		}
		n++
		size += info.Size
		if err != nil || info.Damaged {
			bad++
		}
	}
	what := plural(n, "session") + ", " + bytesOf(size)
	if bad > 0 {
		d.add("sessions", statusWarn, "lathe session verify --all names the damage", "%s; %d look damaged", what, bad)
		return
	}
	d.ok("sessions", "%s", what)
}
