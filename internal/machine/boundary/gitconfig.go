package boundary

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Configures reports whether a command of the default boundary may write the repository's configuration: it is all git,
// and has a verb that does.
func (b *Boundary) Configures(l Line) bool {
	if b == nil || !b.standard || !slices.Contains(l.Programs, "git") {
		return false
	}
	return l.Covered(slices.Concat(configuring, alongside)) && !l.Covered(without(alongside, configuring))
}

// OpenConfig lets the command write the configuration of git's repositories. A change that could make a program run is
// undone when it appears (Linux), at the latest when the command ends: the changed file is set aside then.
func (r *Run) OpenConfig() {
	protect := slices.Clone(r.Policy.Protect)
	r.Policy.Protect = slices.DeleteFunc(r.Policy.Protect, func(path string) bool {
		dir := filepath.Dir(path)
		if filepath.Base(path) != "config" || !isGitFolder(dir) {
			return false
		}
		// The protected hooks keep git's folder where it is: lathe must not be led to another one when it undoes a change.
		if fi, err := os.Lstat(filepath.Join(dir, "hooks")); err != nil || !fi.IsDir() || !slices.Contains(protect,
			filepath.Join(dir, "hooks")) {
			return false
		}
		text, fi, err := readRegular(path)
		if err != nil {
			return false
		}
		r.configs = append(r.configs, &openConfig{
			path: path, written: r.Policy.Write, text: text, mode: fi.Mode().Perm(),
			aside: filepath.Join(r.b.o.State, "set-aside"),
		})
		return true
	})
	for _, c := range r.configs {
		c.stop = onChange(c.path, c.check)
	}
}

// openConfig is a configuration that a command may write.
type openConfig struct {
	path, aside string
	written     []string // the folders that commands write
	text        []byte   // as it was
	mode        os.FileMode
	stop        func()
	next        []byte // in a guard: a replacement, until it is clear that nothing else happened to it
	undone      bool   // in a guard: a change was undone

	mu    sync.Mutex
	lines []string
}

// check undoes a harmful change.
func (c *openConfig) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, _, err := readRegular(c.path)
	switch {
	case err == nil:
		key := c.harmful(string(now))
		if key == "" {
			return
		}
		c.undo(key)
	case !os.IsNotExist(err):
		c.lines = append(c.lines, setAside(c.path, c.aside))
	}
	c.restore()
}

// undo sets the file aside for the sake of a key.
func (c *openConfig) undo(key string) {
	c.lines = append(c.lines, fmt.Sprintf("the change of %s was undone, since it sets %s, which can make git run a "+
		"program or trust another file. %s", c.path, key, setAside(c.path, c.aside)))
}

// readRegular reads a small regular file, and nothing else: a pipe would never end, a link lead elsewhere.
func readRegular(path string) ([]byte, os.FileInfo, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	const most = 1 << 20
	fi, err := f.Stat()
	if err == nil && (!fi.Mode().IsRegular() || fi.Size() > most) {
		err = fmt.Errorf("%s is no small regular file", path)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return text, fi, err
}

// restore puts the file back as it was.
func (c *openConfig) restore() {
	p, err := openPlace(c.path)
	if err == nil {
		defer p.close()
		err = p.replace(c.text, c.mode)
	}
	if err != nil {
		c.lines = append(c.lines, fmt.Sprintf("%s could not be put back: %v", c.path, err))
	}
}

// end checks for the last time, after the command, and returns the lines for the model.
func (c *openConfig) end() []string {
	c.stop()
	c.check()
	return c.lines
}

// harmlessKeys are the keys, by section, that name no program, no file with more settings and no other place for
// secrets to go.
var harmlessKeys = map[string]string{
	"branch": "remote merge rebase description pushremote autosetupmerge autosetuprebase sort vscode-merge-base " +
		"gh-merge-base", "remote": "url pushurl fetch push mirror prune prunetags tagopt skipdefaultupdate promisor " +
		"partialclonefilter gh-resolved",
	"submodule":  "url active branch ignore shallow recurse fetchrecursesubmodules",
	"extensions": "worktreeconfig objectformat partialclone relativeworktrees",
	"user":       "name email signingkey useconfigonly", "author": "name email", "committer": "name email",
	"core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol " +
		"safecrlf quotepath abbrev whitespace longpaths untrackedcache sparsecheckout sparsecheckoutcone",
	"push": "default autosetupremote followtags recursesubmodules", "pull": "rebase ff",
	"fetch": "prune prunetags parallel recursesubmodules", "merge": "ff conflictstyle log renames stat",
	"rebase": "autosquash autostash updaterefs", "rerere": "enabled autoupdate", "init": "defaultbranch",
	"commit": "gpgsign verbose status", "tag": "gpgsign sort",
	"log": "date decorate abbrevcommit follow", "status": "short branch showuntrackedfiles",
	"diff":  "algorithm renames colormoved mnemonicprefix noprefix",
	"color": "ui branch diff status", "advice": "detachedhead skippedcherrypicks addignoredfile",
}

// harmful is harmfulChange for the file, and knows the folders that commands write: git push runs the hooks of a
// repository on this machine, so none of those may become a remote.
func (c *openConfig) harmful(now string) string {
	if key := harmfulChange(string(c.text), now); key != "" {
		return key
	}
	known := map[string]bool{}
	for _, s := range settings(string(c.text)) {
		known[s.id()] = true
	}
	all := settings(now)
	for _, s := range all {
		if s.namesRemote(all) && !known[s.id()] && c.leadsInside(s.value) {
			return s.section + "." + s.key
		}
	}
	return ""
}

// namesRemote reports whether a setting has the address of a remote. That of a branch may have one instead of a
// remote's name.
func (s setting) namesRemote(all []setting) bool {
	switch s.section + "." + s.key {
	case "remote.url", "remote.pushurl":
		return true
	case "branch.remote", "branch.pushremote":
		return s.value != "." && !slices.ContainsFunc(all, func(r setting) bool {
			return r.section == "remote" && r.key == "url" && strings.Trim(r.sub, `"`) == s.value
		})
	}
	return false
}

// leadsInside reports whether a remote is a folder that commands write, or may be.
func (c *openConfig) leadsInside(url string) bool {
	path := strings.TrimPrefix(url, "file://")
	// a scheme, or ssh's host:path
	if before, _, colon := strings.Cut(path, ":"); colon && !strings.Contains(before, "/") {
		return false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(filepath.Dir(c.path)), path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = filepath.Clean(path)
	}
	return slices.ContainsFunc(append([]string{"/proc", "/dev"}, c.written...), func(dir string) bool {
		return within(filepath.Clean(path), dir) || within(real, dir)
	})
}

// harmfulChange returns the first setting of a configuration that is new and not known to be harmless, "" if there is
// none.
func harmfulChange(old, now string) string {
	known := map[string]bool{}
	for _, s := range settings(old) {
		known[s.id()] = true
	}
	for _, s := range settings(now) {
		if !known[s.id()] && !s.harmless() {
			return strings.TrimPrefix(s.section+"."+s.key, ".")
		}
	}
	return ""
}

// setting is one line of a configuration below a section's heading.
type setting struct{ section, sub, key, value string }

func (s setting) id() string { return s.section + "\x00" + s.sub + "\x00" + s.key + "\x00" + s.value }

func (s setting) harmless() bool {
	if !slices.Contains(strings.Fields(harmlessKeys[s.section]), s.key) || strings.ContainsAny(s.value, "\\\"") {
		return false
	}
	if s.key == "url" || s.key == "pushurl" { // name::address is a helper program's
		return !strings.Contains(s.value, "::") && !strings.HasPrefix(s.value, "-")
	}
	return s.sub == "" || s.section == "branch" || s.section == "remote" || s.section == "submodule"
}

// settings reads a configuration line by line. A form that is not understood is a setting with a key that is in no
// list.
func settings(text string) (out []setting) {
	var at setting
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for strings.HasPrefix(line, "[") {
			head, rest, ok := cutHeading(line)
			if !ok {
				break
			}
			at.section, at.sub, _ = strings.Cut(head, " ")
			at.section, line = strings.ToLower(at.section), rest
			out = append(out, setting{at.section, at.sub, "", ""})
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		s := setting{at.section, at.sub, strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)}
		out = append(out, s)
	}
	return slices.DeleteFunc(out, func(s setting) bool { return s.key == "" && harmlessKeys[s.section] != "" })
}

// cutHeading splits [section "name"] from the rest of its line. A section with a dot has its name behind that.
func cutHeading(line string) (head, rest string, ok bool) {
	quoted := false
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quoted:
			i++
		case line[i] == '"':
			quoted = !quoted
		case line[i] == ']' && !quoted:
			return line[1:i], strings.TrimSpace(line[i+1:]), true
		}
	}
	return "", line, false
}
