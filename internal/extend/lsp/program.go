package lsp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// lookup is the result of looking for a program.
type lookup struct {
	argv []string
	err  error
	at   time.Time
}

// lookAgain is how long a program that was not found is not looked for.
const lookAgain = time.Minute

// Errors of program.
var (
	errNotInstalled = errors.New("not installed")
	errNotTrusted   = errors.New("not started: it runs code of the project, there is no sandbox to run it in, and the " +
		"folder is not trusted (lathe config trust)")
	errProjectChooses = errors.New("not started: files of the project choose the program that runs, and the folder " +
		"is not trusted (lathe config trust)")
)

// program returns the command that starts a server in a root. Programs of the project are used in trusted folders only.
func (p *Pool) program(d *Definition, root, top string) ([]string, error) {
	key := d.Name + "\x00" + root + "\x00" + strings.Join(d.Command, "\x00")
	trusted := p.o.Trusted()
	if trusted {
		key += "\x00trusted"
	}
	p.mu.Lock()
	l, ok := p.found[key]
	p.mu.Unlock()
	if ok && (l.err == nil || time.Since(l.at) < lookAgain) {
		return l.argv, l.err
	}
	l = lookup{at: time.Now()}
	if l.argv, l.err = p.look(d, root, top, trusted); l.err == nil && !trusted && !d.Data && !p.o.Confined() {
		l.err = errNotTrusted
	}
	p.mu.Lock()
	p.found[key] = l
	p.mu.Unlock()
	return l.argv, l.err
}

func (p *Pool) look(d *Definition, root, top string, trusted bool) ([]string, error) {
	if len(d.Command) == 0 {
		return nil, fmt.Errorf("its definition has no command")
	}
	args := slices.Concat([]string(d.Command[1:]), d.Args)
	if trusted {
		if own := InProject(d.Command[0], root, top); own != "" {
			return append([]string{own}, args...), nil
		}
	}
	path := OnPath(d.Command[0], p.o.Environ())
	if path == "" || !trusted && within(path, top) {
		return nil, errNotInstalled
	}
	if !trusted && chosenByProject(path, root, top) {
		return nil, errProjectChooses
	}
	return append([]string{path}, args...), nil
}

// versionFiles can lead a version manager to a program in the project, in a folder or one above it.
var versionFiles = []string{"rust-toolchain.toml", "rust-toolchain", ".tool-versions", "mise.toml", ".mise.toml"}

// chosenByProject reports whether a program is the stand-in of a version manager (rustup, asdf, mise, pyenv and the
// like) and a file of the project chooses what it runs.
func chosenByProject(path, root, top string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true
	}
	if base := filepath.Base(real); base != "rustup" && base != "mise" && base != "volta-shim" &&
		filepath.Base(filepath.Dir(path)) != "shims" && !besideRustup(real) {
		return false
	}
	for dir := root; within(dir, top); dir = filepath.Dir(dir) {
		for _, name := range versionFiles {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return true
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return false
}

// besideRustup reports whether a program is rustup by another name, as it installs its stand-ins.
func besideRustup(path string) bool {
	own, err := os.Stat(path)
	rustup, other := os.Stat(filepath.Join(filepath.Dir(path), "rustup"))
	return err == nil && other == nil && os.SameFile(own, rustup)
}

// InProject finds a program in node_modules/.bin and in virtual environments, from a folder up to top; "" if there is
// none.
func InProject(name, dir, top string) string {
	if strings.ContainsAny(name, `/\`) {
		return ""
	}
	for ; within(dir, top); dir = filepath.Dir(dir) {
		for _, sub := range [...]string{
			"node_modules/.bin", ".venv/bin", "venv/bin", "env/bin", ".venv/Scripts",
			"venv/Scripts",
		} {
			if path := executable(filepath.Join(dir, filepath.FromSlash(sub), name)); path != "" {
				return path
			}
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	return ""
}

// OnPath finds a program along the PATH of an environment; "" if there is none.
func OnPath(name string, environ []string) string {
	if filepath.IsAbs(name) {
		return executable(name)
	}
	if strings.ContainsAny(name, `/\`) {
		return "" // below the working folder, which is the project's
	}
	for _, kv := range slices.Backward(environ) {
		key, value, _ := strings.Cut(kv, "=")
		if key != "PATH" && !(runtime.GOOS == "windows" && strings.EqualFold(key, "PATH")) {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			if !filepath.IsAbs(dir) {
				continue
			}
			if path := executable(filepath.Join(dir, name)); path != "" {
				return path
			}
		}
		return ""
	}
	return ""
}

// executable returns the path of a program, with the extension that Windows wants.
func executable(path string) string {
	ends := []string{""}
	if runtime.GOOS == "windows" {
		ends = []string{".exe", ".cmd", ".bat"}
	}
	for _, end := range ends {
		info, err := os.Stat(path + end)
		if err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return path + end
		}
	}
	return ""
}
