package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/files/transact"
	"github.com/lathe-dev/lathe/internal/permission"
)

// outputFolders are the names of folders that builds and test runners fill. Where git ignores one, what a command wrote
// into it in its private view becomes real without a question. Folders of dependencies are not among them: what is
// installed there runs later.
var outputFolders = []string{
	"target", "dist", "build", "out", "coverage", "htmlcov", ".next", ".nuxt", ".output", ".svelte-kit", ".turbo",
	".parcel-cache", ".nyc_output", ".pytest_cache", "__pycache__", ".mypy_cache", ".ruff_cache", ".hypothesis", ".gradle",
	"bin", "obj", "cmake-build-debug", "cmake-build-release", "test-results", "playwright-report", ".cache",
}

// Bounds of what a question about a private view shows.
const (
	viewDiffMax = 4 << 20 // bytes of one file
	viewFileMax = 1 << 30 // bytes of one file that is changed
	viewNames   = 20
)

// KeepQuestion asks what becomes of the changes that a command made in its private view of the project. Refused are the
// paths that a rule or a guard denies, with the reason; the decision is about the others.
type KeepQuestion func(ctx context.Context, a agent.Approval) (refused map[string]string, d permission.Decision)

// takeView takes in what the command did in its private view: build outputs are copied out, and a person decides on
// everything else. It reports whether changes were dropped.
func (c *bashCall) takeView(ctx context.Context, run *boundary.Run) (dropped bool) {
	if run == nil || c.reach != permission.ReachView || !run.Viewed() {
		return false
	}
	defer run.Drop()
	changes, err := run.Changes()
	if err != nil {
		c.notes = append(c.notes, err.Error()+"; they were dropped.")
		return true
	}
	outputs, rest := c.sortChanges(changes)
	if err := c.copyOutputs(outputs); err != nil {
		c.notes = append(c.notes, "The build outputs could not be copied into the project: "+err.Error())
		dropped = true
	}
	if len(rest) == 0 {
		return dropped
	}
	return c.decideView(ctx, rest) || dropped
}

// sortChanges separates build outputs from other changes. A refreshed index of git is neither.
func (c *bashCall) sortChanges(changes []boundary.Change) (outputs, rest []boundary.Change) {
	ignored := map[string]bool{}
	for _, one := range changes {
		switch {
		case c.isOutput(one, ignored):
			outputs = append(outputs, one)
		case filepath.Base(one.Path) == "index" && filepath.Base(filepath.Dir(one.Path)) == ".git" && one.Info != nil:
		default:
			rest = append(rest, one)
		}
	}
	return outputs, rest
}

// isOutput reports whether a change lies in a folder of outputs that git ignores, and is no secret and nothing that a
// guard protects.
func (c *bashCall) isOutput(one boundary.Change, ignored map[string]bool) bool {
	root, rel := c.rootOf(one.Path)
	if root == "" || one.Late || one.Info != nil && !one.Info.Mode().IsRegular() && !one.Info.IsDir() {
		return false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	at := slices.IndexFunc(parts, func(name string) bool { return slices.Contains(outputFolders, name) })
	if at < 0 || at == len(parts)-1 && (one.Info == nil || !one.Info.IsDir()) ||
		slices.ContainsFunc(parts, func(name string) bool { return slices.Contains(dependencyFolders, name) }) {
		return false
	}
	if secret, _, template := permission.SecretPath(filepath.ToSlash(rel)); secret != "" && !template ||
		permission.GuardedWrite(filepath.ToSlash(rel)) {
		return false
	}
	folder := filepath.Join(root, filepath.Join(parts[:at+1]...))
	known, seen := ignored[folder]
	if !seen {
		known = files.Excluded(folder)
		ignored[folder] = known
	}
	return known
}

// dependencyFolders hold what package managers install.
var dependencyFolders = []string{"node_modules", ".venv", "venv", "vendor", "site-packages", "bower_components", ".git"}

// rootOf returns the working root of a path, and the path from there; "" where there is none.
func (c *bashCall) rootOf(path string) (root, rel string) {
	for _, r := range c.env.Roots.List() {
		if in, err := filepath.Rel(r.Path, path); err == nil && filepath.IsLocal(in) && len(r.Path) > len(root) {
			root, rel = r.Path, in
		}
	}
	return root, rel
}

// copyOutputs makes outputs real, without a journal: a build makes them again.
func (c *bashCall) copyOutputs(list []boundary.Change) error {
	var errs []error
	each := func(one boundary.Change) {
		path, rel := c.rootOf(one.Path)
		root, err := os.OpenRoot(path) // which no link leads out of
		if err == nil {
			err = errors.Join(copyChange(root, rel, one), root.Close())
		}
		if err != nil && len(errs) < 3 {
			errs = append(errs, err)
		}
	}
	for _, one := range list {
		if one.Info != nil {
			each(one)
		}
	}
	for _, one := range slices.Backward(list) { // a folder after what is in it
		if one.Info == nil {
			each(one)
		}
	}
	return errors.Join(errs...)
}

// copyChange makes one change real by a name below a root.
func copyChange(root *os.Root, rel string, one boundary.Change) error {
	switch {
	case one.Info == nil:
		if err := root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case one.Info.IsDir():
		return root.MkdirAll(rel, one.Info.Mode().Perm()|0o700)
	}
	from, err := os.Open(one.File)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := root.MkdirAll(filepath.Dir(rel), 0o777); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(rel), files.TempName())
	to, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, one.Info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err == nil {
		err = root.Rename(temp, rel)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// decideView has a person decide on changes and makes those real that are kept. It reports whether some were dropped.
func (c *bashCall) decideView(ctx context.Context, list []boundary.Change) (dropped bool) {
	if c.env.Keep == nil || c.detached || ctx.Err() != nil {
		c.notes = append(c.notes, fmt.Sprintf("The command ran in a private view of the project. Its changes were dropped, "+
			"because the call had ended: %s.", c.changedNames(list)))
		return true
	}
	refused, d := c.env.Keep(ctx, c.keepApproval(list))
	if d.Effect != permission.Allow {
		note := fmt.Sprintf("The command ran in a private view of the project. Its changes were dropped, because %s: %s.",
			d.Reason, c.changedNames(list))
		if d.Guidance != "" {
			note += " The user says: " + d.Guidance
		}
		c.notes = append(c.notes, note)
		return true
	}
	var take, not []boundary.Change
	for _, one := range list {
		if why := refused[one.Path]; why != "" || one.Late {
			not = append(not, one)
			continue
		}
		take = append(take, one)
	}
	if err := c.applyView(ctx, take); err != nil {
		c.notes = append(c.notes, "The changes of the command were not kept: "+err.Error())
		return true
	}
	if len(take) > 0 {
		c.notes = append(c.notes, fmt.Sprintf("The user kept the changes of the command: %s.", c.changedNames(take)))
	}
	for _, one := range not {
		why := refused[one.Path]
		if one.Late {
			why = "somebody else changed it while the command ran"
		}
		c.notes = append(c.notes, fmt.Sprintf("%s was not changed: %s.", c.env.Rel(one.Path), why))
	}
	return len(not) > 0
}

// changedNames lists changes for the model.
func (c *bashCall) changedNames(list []boundary.Change) string {
	var names []string
	for _, one := range list {
		name := c.env.Rel(one.Path)
		switch {
		case one.Info == nil:
			name += " (removed)"
		case one.Info.IsDir():
			continue
		case one.Was == nil:
			name += " (new)"
		}
		names = append(names, name)
	}
	if len(names) > viewNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:viewNames], ", "), len(names)-viewNames)
	}
	if len(names) == 0 {
		return count(len(list), "folder", "folders")
	}
	return strings.Join(names, ", ")
}

// keepApproval is the question about changes: the files that would be written, and what the command really did.
func (c *bashCall) keepApproval(list []boundary.Change) agent.Approval {
	var accesses []permission.Access
	var diffs []event.Diff
	for _, one := range list {
		node := permission.Node{Real: one.Path, Kind: permission.Missing}
		if one.Was != nil {
			node = nodeOf(one.Path, one.Was, nil)
		}
		accesses = append(accesses, permission.Access{
			Kind: permission.Write, Target: one.Path, Node: node.Kind, Links: node.Links,
		})
		if d, ok := viewDiff(one); ok {
			diffs = append(diffs, d)
		}
	}
	title := bashTitle(c.in)
	return agent.Approval{
		Request: permission.Request{CallID: c.id, Tool: BashName, Input: c.input, Accesses: accesses, Dir: c.dir},
		Call:    llm.ToolCall{ID: c.id, Name: BashName, Input: c.input},
		Title:   title, Preview: event.JoinDiffs(diffs),
	}
}

// viewDiff is what people see of one change; false for a folder.
func viewDiff(one boundary.Change) (event.Diff, bool) {
	if one.Info != nil && one.Info.IsDir() || one.Info == nil && one.Was != nil && one.Was.IsDir() {
		return event.Diff{}, false
	}
	before, plain := viewText(one.Path, one.Was)
	after, text := viewText(one.File, one.Info)
	if !plain || !text {
		return event.Diff{Path: one.Path, Unified: viewKind(one), Created: one.Was == nil}, true
	}
	d, _ := diffTexts(one.Path, before, after)
	d.Created = one.Was == nil
	if one.Was != nil && one.Info != nil && one.Was.Mode() != one.Info.Mode() && d.Unified == "" {
		d.Unified = viewKind(one)
	}
	return d, true
}

// viewText is the content of a file that people can read; a missing file is empty.
func viewText(path string, fi fs.FileInfo) (string, bool) {
	if fi == nil {
		return "", true
	}
	if !fi.Mode().IsRegular() || fi.Size() > viewDiffMax {
		return "", false
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.IndexByte(string(data[:min(len(data), 8<<10)]), 0) >= 0 {
		return "", false
	}
	return files.Decode(data).View, true
}

// viewKind says what a change is that has no diff.
func viewKind(one boundary.Change) string {
	switch {
	case one.Info == nil:
		return "(removed)"
	case one.Info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(one.File)
		return "(a link to " + target + ")"
	case one.Was != nil && one.Was.Mode() != one.Info.Mode():
		return fmt.Sprintf("(mode %v, was %v)", one.Info.Mode(), one.Was.Mode())
	}
	return "(" + size(one.Info.Size()) + ", not shown)"
}

// applyView makes changes real, together by a journal: files, then links and folders.
func (c *bashCall) applyView(ctx context.Context, list []boundary.Change) (err error) {
	var together []transact.Change
	defer func() {
		for _, one := range together {
			err = errors.Join(err, one.Target.Close())
		}
	}()
	var after []boundary.Change
	for _, one := range list {
		if !plainFile(one.Info) || !plainFile(one.Was) {
			after = append(after, one)
			continue
		}
		change, err := c.viewChange(one)
		if change.Target != nil {
			together = append(together, change)
		}
		if err != nil {
			return err
		}
	}
	steps, err := c.viewSteps(after)
	if err == nil {
		_, err = transact.Apply(ctx, c.env.Journals, together, steps...)
	}
	return err
}

func plainFile(fi fs.FileInfo) bool { return fi == nil || fi.Mode().IsRegular() }

// viewChange prepares the change of one regular file. The caller closes its target, also after an error.
func (c *bashCall) viewChange(one boundary.Change) (out transact.Change, err error) {
	path, err := c.env.Roots.Resolve(one.Path, c.dir)
	if err != nil {
		return out, err
	}
	if out.Target, err = c.env.Roots.Hold(path); err != nil {
		return out, err
	}
	if one.Was != nil {
		if out.Before, out.Info, err = out.Target.Read(viewFileMax); err != nil {
			return out, err
		}
		if !files.Unchanged(out.Info, one.Was) {
			return out, fmt.Errorf("%s was changed by somebody else meanwhile", c.env.Rel(one.Path))
		}
	}
	if out.Remove = one.Info == nil; out.Remove {
		return out, nil
	}
	out.Mode = one.Info.Mode().Perm()
	out.After, err = os.ReadFile(one.File)
	return out, err
}

// viewSteps are the changes of links and folders: what is made first, then what goes, a folder after what is in it.
func (c *bashCall) viewSteps(list []boundary.Change) (out []transact.Step, err error) {
	for _, one := range list {
		if one.Info == nil {
			continue
		}
		s := transact.Step{Mode: one.Info.Mode()}
		s.Root, s.Rel = c.rootOf(one.Path)
		switch {
		case one.Info.IsDir():
			s.Dir = true
		case one.Info.Mode()&fs.ModeSymlink != 0:
			s.Link, err = os.Readlink(one.File)
		case one.Info.Mode().IsRegular():
			s.Data, err = os.ReadFile(one.File)
		default:
			err = fmt.Errorf("%s is no file, folder or link", one.Path)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	for _, one := range slices.Backward(list) {
		if one.Info == nil {
			root, rel := c.rootOf(one.Path)
			out = append(out, transact.Step{Root: root, Rel: rel, Remove: true})
		}
	}
	return out, nil
}
