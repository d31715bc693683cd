package tool

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// systemDirs hold the programs of the system's packages: their links and scripts choose nothing by the project.
var systemDirs = []string{"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/snap/bin/", "/nix/store/"}

// standIn reports whether a program may be a stand-in of a version manager: rustup, asdf, mise, volta and the like put
// one under the name of each program, which runs the version, or the file, that the project's files name. It is told by
// its folder, by a link or second name that leads to another program, or by being a script of a shell.
func standIn(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true
	}
	name, base := filepath.Base(path), filepath.Base(real)
	if base == "rustup" || slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "shims") {
		return true
	}
	if slices.ContainsFunc(systemDirs, func(dir string) bool { return strings.HasPrefix(path, dir) }) {
		return false
	}
	rest, same := strings.CutPrefix(base, name)
	// python3 is python3.12, and npm is npm-cli.js
	if !same || rest != "" && !strings.ContainsAny(rest[:1], "0123456789.-") {
		return true
	}
	return isShellScript(real) || hasTwin(real)
}

func isShellScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 100))
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return err != nil || bytes.HasPrefix(line, []byte("#!")) && bytes.Contains(line, []byte("sh"))
}

// hasTwin reports whether another name in its folder is the same file.
func hasTwin(path string) bool {
	info, err := os.Stat(path)
	if err != nil || files.Links(info) < 2 {
		return err != nil
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	return err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		other, err := e.Info()
		return err == nil && e.Name() != filepath.Base(path) && os.SameFile(info, other)
	})
}

// foreign reports whether the shell would find a program in a folder that the clean PATH leaves out: one of the
// project's.
func (m *Machine) foreign(program, dir string) bool {
	for _, d := range filepath.SplitList(m.env.variable("PATH")) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		if _, err := exec.LookPath(filepath.Join(d, program)); err == nil {
			real, err := filepath.EvalSymlinks(d)
			return err != nil || !slices.Contains(m.toolDirs(), real)
		}
	}
	return false
}
