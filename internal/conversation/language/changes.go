package language

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/glob"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/files/watch"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Bounds of a report of changes.
const (
	maxPublished = 50   // files of one burst
	maxDiff      = 1500 // bytes of a file's difference
	maxNoted     = 10   // files of one message

	// reportDelay is how late a change may be reported; that of a removed file has no time of its own.
	reportDelay = 3 * time.Second
)

// follow has the watcher follow a file that the model has read or written, the working folders and the repository's
// state.
func (s *Joined) follow(path string) {
	f := s.folder
	f.followRepo()
	f.watcher.Follow(path)
	for _, r := range s.Env.Roots.List() {
		if !r.ReadOnly {
			f.followTree(r.Path)
		}
	}
}

// followTree has the watcher follow a working folder.
func (f *Folder) followTree(dir string) {
	f.mu.Lock()
	again := f.trees[dir]
	f.trees[dir] = true
	f.mu.Unlock()
	if !again && !f.home(dir) {
		f.watcher.FollowTree(dir)
	}
}

// followRepo has the watcher follow the state of the repository, once there is one.
func (f *Folder) followRepo() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.repo.GitDir != "" {
		return
	}
	repo, ok := git.Find(f.o.Dir)
	if !ok {
		return
	}
	f.repo = repo
	for _, name := range []string{
		filepath.Join(repo.GitDir, "HEAD"), filepath.Join(repo.GitDir, "index"),
		filepath.Join(repo.CommonDir, "packed-refs"), branchFile(repo),
	} {
		f.watcher.FollowAlone(name)
	}
}

// home reports whether a folder has the home folder in it, and with it more than a project.
func (f *Folder) home(dir string) bool {
	for _, kv := range f.o.Environ() {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && home != "" && files.Within(dir, filepath.Clean(home)) {
			return true
		}
	}
	return filepath.Dir(dir) == dir
}

// folders names the folders of a tree to watch: those that no ignore file excludes.
func folders(dir string, fresh bool, fn func(dir string) bool) {
	if fresh && (files.VCSFolder(filepath.Base(dir)) || files.Excluded(dir)) {
		return
	}
	files.Folders(dir, fn)
}

// followWanted has the watcher follow the files that hooks want.
func (s *Joined) followWanted() {
	if s.Watched == nil || !s.Main {
		return
	}
	for _, name := range s.Watched() {
		if p, err := s.Env.Roots.Resolve(name, s.Env.Dir.Get()); err == nil {
			s.folder.watcher.FollowAlone(p.Real)
		}
	}
}

// branchFile is the file with the branch's commit.
func branchFile(repo git.Repo) string {
	return filepath.Join(repo.CommonDir, "refs", "heads", filepath.FromSlash(repo.Branch))
}

// changed passes a batch of changes on: to the servers, and to the sessions with their caches and hooks.
func (f *Folder) changed(batch []watch.Event) {
	batch = f.branch(batch)
	joined := f.allJoined()
	var paths []string
	ignored, unwatched := ignoring(), f.unwatched()
	batch = slices.DeleteFunc(batch, func(e watch.Event) bool {
		if unwatched(e.Path) {
			return true
		}
		known := slices.ContainsFunc(joined, func(s *Joined) bool { return s.Env.Reads.Knows(e.Path) })
		return !known && ignored(e.Path)
	})
	for _, e := range batch {
		if f.pool.Covers(e.Path) {
			paths = append(paths, e.Path)
		}
	}
	f.pool.FilesChanged(paths)
	for _, s := range joined {
		s.changes(batch)
	}
}

// unwatched returns a function that reports whether the settings leave the changes of a file out.
func (f *Folder) unwatched() func(path string) bool {
	var all []glob.Glob
	for _, pattern := range f.o.Config().Settings.Watcher.Ignore {
		if g, err := glob.Compile(pattern); err == nil { // a broken one matches nothing
			all = append(all, g)
		}
	}
	return func(path string) bool {
		rel, err := filepath.Rel(f.o.Dir, path)
		return err == nil && slices.ContainsFunc(all, func(g glob.Glob) bool { return g.Match(filepath.ToSlash(rel)) })
	}
}

// ignoring returns a function that reports whether git ignores a file by the rules that hold in its folder.
func ignoring() func(path string) bool {
	rules := map[string]*files.GitIgnores{}
	return func(path string) bool {
		dir := filepath.Dir(path)
		if rules[dir] == nil {
			rules[dir] = files.GitIgnoresAbove(dir).Enter(dir, func(name string) bool {
				_, err := os.Lstat(filepath.Join(dir, name))
				return err == nil
			})
		}
		return rules[dir].Ignored(path, false)
	}
}

// branch takes the changes of the repository's own files out of a batch, and reports another branch or commit.
func (f *Folder) branch(batch []watch.Event) []watch.Event {
	f.mu.Lock()
	before := f.repo
	f.mu.Unlock()
	if before.GitDir == "" {
		return batch
	}
	rest := slices.DeleteFunc(batch, func(e watch.Event) bool {
		return files.Within(before.GitDir, e.Path) || files.Within(before.CommonDir, e.Path)
	})
	if now, ok := git.Find(f.o.Dir); ok && (now.Branch != before.Branch || now.Head != before.Head) {
		f.mu.Lock()
		f.repo = now
		f.mu.Unlock()
		f.watcher.FollowAlone(branchFile(now))
		for _, s := range f.allJoined() {
			if s.Publish != nil && s.Main {
				s.Publish(event.BranchChanged{Branch: now.Branch, Head: now.Head})
			}
		}
	}
	return rest
}

func (f *Folder) allJoined() (out []*Joined) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.joined {
		out = append(out, s)
	}
	return out
}

// changes drops what the session has cached of the files, notes those that the model knows, and reports all.
func (s *Joined) changes(batch []watch.Event) {
	for _, e := range batch {
		s.Env.Cache.InvalidateFile(e.Path)
		if s.Env.Reads.Knows(e.Path) {
			s.mu.Lock()
			s.doubtful[e.Path] = time.Now()
			s.mu.Unlock()
		}
	}
	if !s.Main {
		return
	}
	batch = batch[:min(len(batch), maxPublished)]
	if s.Publish != nil {
		for _, e := range batch {
			s.Publish(event.FileChanged{Path: e.Path, Op: string(e.Op)})
		}
	}
	s.fire(batch)
}

// fire runs the hooks beside the watcher, which they do not hold up.
func (s *Joined) fire(batch []watch.Event) {
	s.running.Lock()
	defer s.running.Unlock()
	if s.Changed == nil || s.left || len(batch) == 0 {
		return
	}
	s.hooks.Go(func() {
		for _, e := range batch {
			s.Changed(s.life, e.Path, string(e.Op))
		}
		s.followWanted()
	})
}

// OthersChanges reports to the model, once, which of the files that it knows somebody else has changed. A change before
// the end of the agent's last command may be its own, and is not reported: an edit of such a file is refused anyway.
func (s *Joined) OthersChanges(context.Context) ([]llm.Message, error) {
	s.mu.Lock()
	doubtful, ran := s.doubtful, s.ran
	s.doubtful = map[string]time.Time{}
	s.mu.Unlock()
	if len(doubtful) == 0 || s.Env.Background.Running() > 0 {
		return nil, nil
	}
	var b strings.Builder
	n := 0
	for _, path := range slices.Sorted(maps.Keys(doubtful)) {
		c, ok := s.Env.Reads.ChangedFile(path, ran)
		if !ok || c.Removed && doubtful[path].Sub(ran) < reportDelay {
			continue
		}
		if n++; n <= maxNoted {
			s.describe(&b, c)
		}
	}
	if n == 0 {
		return nil, nil
	}
	if n > maxNoted {
		fmt.Fprintf(&b, "[%d more files]\n", n-maxNoted)
	}
	text := "<system-reminder>\nThe user, another agent or a program changed files that you have read. Take it as " +
		"intended; read them again before you change them.\n" + b.String() + "</system-reminder>"
	return []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{Text: text, Origin: llm.OriginReminder}}}}, nil
}

func (s *Joined) describe(b *strings.Builder, c tool.ChangedFile) {
	name := s.Env.Rel(c.Path)
	if c.Removed {
		fmt.Fprintf(b, "%s was removed\n", name)
		return
	}
	fmt.Fprintf(b, "%s was changed\n%s", name, s.Env.Reads.ChangedLines(c.Path, maxDiff))
}
