package tool

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Bounds of a destruction: it is for a dialog, which must not wait for it.
const (
	destroyTime  = 150 * time.Millisecond // for files
	destroyGit   = time.Second
	destroyFiles = 20_000 // that are counted
	destroyShown = 5      // names in one line
	destroyLines = 20
	destroyLine  = 400 // characters
)

// destruction collects the losses that a command would cause.
type destruction struct {
	env   *Commands
	dir   string // where the part at hand runs; "" when that is not known
	until time.Time
	lines []string
}

// warning lists the losses of a destructive command, a line each: files and their sizes, work that is
// not committed or not pushed, processes. It is nil for other commands. Names of files and processes in it
// are foreign text. Which of them undo would bring back is the approver's to say.
func (c *bashCall) warning(ctx context.Context, accesses []permission.Access) []string {
	if len(accesses) == 0 || accesses[0].Command == nil || accesses[0].Command.Class != permission.ClassDestructive {
		return nil
	}
	d := &destruction{env: c.env, dir: c.dir, until: time.Now().Add(destroyTime)}
	ctx, cancel := context.WithTimeout(ctx, destroyGit)
	defer cancel()
	removes := false
	for _, p := range accesses[0].Command.Parts {
		if p.Class == permission.ClassDestructive {
			removes = d.part(ctx, p) || removes
		}
		d.move(p)
	}
	if removes {
		d.files(accesses[1:])
	}
	for _, p := range accesses[0].Command.Parts {
		if len(d.lines) == 0 && p.Class == permission.ClassDestructive && p.Reason != "" {
			d.say("%s.", p.Reason)
		}
	}
	if len(d.lines) == 0 {
		d.say("It destroys data.")
	}
	return d.lines
}

func (d *destruction) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if len(line) > destroyLine {
		line = cutLine(line, destroyLine) + "…"
	}
	switch {
	case slices.Contains(d.lines, line) || len(d.lines) > destroyLines:
	case len(d.lines) == destroyLines:
		d.lines = append(d.lines, "There is more that is not told here.")
	default:
		d.lines = append(d.lines, line)
	}
}

// part examines one destructive command and reports whether it destroys exactly the files that it names.
func (d *destruction) part(ctx context.Context, p permission.Part) bool {
	words := strings.Fields(p.Text)
	switch p.Program {
	case "git":
		return d.git(ctx, words)
	case "kill", "pkill", "killall":
		d.processes(ctx, p.Program, words[1:])
		return false
	}
	if p.Reason != "" && !strings.Contains(p.Reason, ":") { // else the files say it
		d.say("%s.", p.Reason)
	}
	return true
}

// move follows a change of the folder.
func (d *destruction) move(p permission.Part) {
	words := strings.Fields(p.Text)
	switch {
	case p.Program != "cd" && p.Program != "pushd" && p.Program != "popd" || d.dir == "":
	case p.Program == "cd" && len(words) == 2 && p.Exact && !strings.HasPrefix(words[1], "-") && !strings.HasPrefix(
		words[1], "~"):
		d.dir = under(d.dir, words[1])
	default:
		d.dir = ""
	}
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// files reports the files that the command names for writing.
func (d *destruction) files(accesses []permission.Access) {
	var all []permission.Access
	for _, a := range accesses {
		if a.Kind == permission.Write && !a.Redirect && a.Node != permission.Missing {
			all = append(all, a)
		}
	}
	for i, a := range all {
		if i == destroyShown {
			d.more(all[i:])
			break
		}
		name := d.env.Rel(a.Target)
		if a.Named != "" {
			name = fmt.Sprintf("%s (through the link %s)", name, d.env.Rel(a.Named))
		}
		d.say("%s: %s", name, d.count(a.Target))
	}
}

// more sums up the losses that are not listed one by one.
func (d *destruction) more(rest []permission.Access) {
	var sum heap
	for _, a := range rest {
		d.measure(a.Target, &sum)
	}
	d.say("and %d more: %s", len(rest), sum)
}

func (d *destruction) count(path string) string {
	var h heap
	d.measure(path, &h)
	return h.String()
}

// heap counts the files in a place.
type heap struct {
	files, folders int
	bytes          int64
	cut            bool // there is more
	unread         bool // some of it could not be looked at
	other          string
}

func (h heap) String() string {
	if h.other != "" {
		return h.other
	}
	text := fmt.Sprintf("%s, %s", count(h.files, "file", "files"), size(h.bytes))
	if h.folders > 0 {
		text = fmt.Sprintf("%s in %s, %s", count(h.files, "file", "files"), count(h.folders, "folder", "folders"),
			size(h.bytes))
	}
	switch {
	case h.cut:
		return "more than " + text
	case h.unread:
		return text + ", and files that cannot be looked at"
	}
	return text
}

// measure counts the files below a path, without following links, until the time is up.
func (d *destruction) measure(path string, h *heap) {
	if info, err := os.Lstat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		h.other = "a link, device, pipe or socket"
		return
	}
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if h.files+h.folders >= destroyFiles || (h.files+h.folders)%64 == 63 && time.Now().After(d.until) {
			h.cut = true
			return fs.SkipAll
		}
		if err != nil {
			h.unread = true
			return nil
		}
		if e.IsDir() {
			h.folders++
			return nil
		}
		h.files++
		if info, err := e.Info(); err == nil {
			h.bytes += info.Size()
		}
		return nil
	})
}

// git examines a git command and reports whether it destroys files that it names.
func (d *destruction) git(ctx context.Context, words []string) bool {
	dir, sub, args := d.dir, "", []string(nil)
	for i := 1; i < len(words) && sub == ""; i++ {
		switch w := words[i]; {
		case w == "-C" && i+1 < len(words) && dir != "":
			i++
			dir = under(dir, words[i])
		case w == "-c" || w == "-C" || w == "--git-dir" || w == "--work-tree" || w == "--namespace":
			i++
			dir = ""
		case !strings.HasPrefix(w, "-"):
			sub, args = w, words[i+1:]
		}
	}
	repo, ok := git.Find(dir)
	if dir == "" || !ok {
		d.say("What git would discard is not known: its folder is not, or is no repository.")
		return false
	}
	g := gitLook{d, git.New(d.env.Runner).WithEnviron(d.env.environ), repo, dir}
	g.tell(ctx, sub, args)
	return sub == "rm"
}

// someOf joins the first names of a list.
func someOf(names []string, total int) string {
	list := strings.Join(names[:min(len(names), destroyShown)], ", ")
	if total > destroyShown {
		list += fmt.Sprintf(" and %d more", total-destroyShown)
	}
	return files.ValidName(list)
}
