package boundary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// refused reports whether the policy explains a line of output with an error of that kind. around is the line with
// those before it.
func (r *Run) refused(kind, dir, line, around string) bool {
	paths := pathsIn(line)
	switch kind {
	case "network":
		return !r.Policy.HostNetwork // no name is resolved and no route leads out, for any program
	case "files":
		return r.refusesWrite(paths, dir)
	}
	if slices.ContainsFunc(paths, func(p string) bool { return r.masks(absolute(p, dir)) }) {
		return true
	}
	if kind == "hidden" {
		return slices.ContainsFunc(paths, func(p string) bool { return r.hides(absolute(p, dir)) })
	}
	if deniedCall(around) {
		return true
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		p = absolute(p, dir)
		return r.closes(p) && writableOutside(p)
	})
}

// surelyRefused is refused for a line that may have come from a command without a failure.
func (r *Run) surelyRefused(kind, dir, line, _ string) bool {
	return kind == "network" && !r.Policy.HostNetwork || slices.ContainsFunc(pathsIn(line), func(p string) bool {
		return kind == "files" && (r.closes(absolute(p, dir)) || r.protects(p)) || kind == "access" &&
			r.masks(absolute(p, dir))
	})
}

// refusesWrite reports whether one of the paths is read-only by the policy. Without a path the error itself is enough:
// hardly a file system of a developer's machine is read-only otherwise.
func (r *Run) refusesWrite(paths []string, dir string) bool {
	known := false
	for _, p := range paths {
		abs := absolute(p, dir)
		if _, err := os.Lstat(filepath.Dir(abs)); err != nil {
			continue // a word that is no path
		}
		known = true
		if r.closes(abs) || r.protects(p) {
			return true
		}
	}
	return !known
}

// closes reports whether the policy forbids to write a path.
func (r *Run) closes(path string) bool {
	p := &r.Policy
	within := func(dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
	}
	if within(p.Protect) || within(p.Mask) {
		return true
	}
	private := []string{p.Temp}
	if r.Support.Tier == confine.Full {
		private = []string{"/tmp", "/dev"}
	}
	if r.Viewed() && slices.ContainsFunc(p.View, func(o confine.Overlay) bool { return within([]string{o.Dir}) }) {
		return false
	}
	return !within(private) && (p.Mode == confine.ReadOnly || !within(p.Write))
}

// protects reports whether a relative path may be one of a protected file; the command may have changed its folder.
func (r *Run) protects(path string) bool {
	return slices.ContainsFunc(r.Policy.Protect,
		func(p string) bool { return strings.HasSuffix(p, "/"+strings.TrimPrefix(path, "./")) })
}

// masks reports whether a path is hidden by the policy.
func (r *Run) masks(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return slices.ContainsFunc(r.Policy.Mask, func(m string) bool { return within(path, m) })
}

// writableOutside reports whether lathe itself could write a path, or create it.
func writableOutside(path string) bool {
	err := writeAccess(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = writeAccess(filepath.Dir(path))
	}
	return err == nil
}

// deniedCall reports whether a line names something that the system call filter refuses whatever the path.
func deniedCall(line string) bool {
	line = strings.ToLower(line)
	words := []string{
		"socket", ".sock", "ptrace", "unshare", "namespace", "clone(", "mount", "chroot", "keyctl", "bpf",
		"perf_event", "io_uring", "setns", "docker", "tmux",
	}
	if os.Geteuid() == 0 { // inside root has no capabilities
		words = append(words, "chown", "ownership", "mknod", "setgroups", "seteuid", "setuid", "setgid", "ping")
	}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) })
}

// pathsIn returns the words of a line that may be paths: with a slash, a dot, or in quotes.
func pathsIn(line string) (out []string) {
	add := func(word string) {
		word = strings.Trim(word, " \t\r\n:,;()[]")
		if word != "" && len(word) < 4096 && !slices.Contains(out, word) && len(out) < 32 {
			out = append(out, word)
		}
	}
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("'\"`‘’“”", r) }) {
		if strings.ContainsAny(part, "/.") {
			add(part) // with its spaces, as quoted
		}
		for word := range strings.FieldsSeq(part) {
			for piece := range strings.SplitSeq(word, ":") {
				if strings.ContainsAny(piece, "/.") || len(out) == 0 {
					add(piece)
				}
			}
		}
		if !strings.ContainsAny(part, " :") {
			add(part)
		}
	}
	return out
}

func absolute(path, dir string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// hides reports whether a file is there, in a part of the home folder that the command did not see.
func (r *Run) hides(path string) bool {
	p := &r.Policy
	return inAny(p.Empty, path) && there(path) && !inAny(slices.Concat(p.Show, p.Write), path) &&
		!slices.ContainsFunc(p.View, func(o confine.Overlay) bool { return within(path, o.Dir) })
}
