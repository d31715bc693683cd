package snapshot

import (
	"context"
	"crypto/sha256"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/machine/git"
)

// A file that git keeps and that did not change since is not copied when a root is scanned first: the tree holds the id
// of git's object. When the file changes, its content before is read from git and stored, at the end of the scan that
// saw it.

// leaveToGit takes the files out of those to be read whose content git keeps. When git cannot be asked, all are read.
func (sc *scan) leaveToGit() {
	repo, ok := git.Find(sc.tree.root.path)
	if !ok {
		return
	}
	list, err := sc.tracked(repo)
	if err != nil || len(list) == 0 {
		return
	}
	ids, paths := make([]git.ID, len(list)), make([]string, len(list))
	for i, c := range list {
		ids[i], paths[i] = c.id, c.path
	}
	var sizes []int64
	var converted []bool
	var sizesErr, convertedErr error
	var both sync.WaitGroup
	both.Go(func() { sizes, sizesErr = sc.store.opt.Git.Sizes(sc.ctx, repo, ids) })
	converted, convertedErr = sc.store.opt.Git.Converted(sc.ctx, repo, paths)
	both.Wait()
	if sizesErr != nil || convertedErr != nil {
		return
	}
	left := map[int]bool{}
	for i, c := range list {
		// A conversion of line ends changes the size whenever it changes the content.
		if u := sc.unread[c.at]; !converted[i] && sizes[i] == u.at.size {
			left[c.at] = true
			if j, ok := u.n.find(u.name); ok {
				u.n.entries[j] = entry{u.name, u.at, true, objectState(u.at, c.id)}
			}
		}
	}
	rest := sc.unread[:0]
	for i, u := range sc.unread {
		if !left[i] {
			rest = append(rest, u)
		}
	}
	sc.unread = rest
}

// objectState is the state of a file whose content is an object of git.
func objectState(at stamp, id git.ID) State {
	s := State{Kind: File, Mode: uint32(at.mode & modeBits), Size: at.size, inGit: true}
	copy(s.Hash[:], id[:])
	return s
}

// clean is a file to be read that did not change since git saw it.
type clean struct {
	at   int // in scan.unread
	path string
	id   git.ID
}

// tracked lists the files to be read that have the stat data of git's index. Files that were changed so shortly before
// the index was written that git's own look may have missed it are not among them.
func (sc *scan) tracked(repo git.Repo) ([]clean, error) {
	at := make(map[string]int, len(sc.unread))
	for i, u := range sc.unread {
		if u.at.kind() != File || u.at.links != 1 || u.at.size == 0 || u.at.size > sc.store.opt.MaxFile {
			continue
		}
		if rel, ok := strings.CutPrefix(filepath.Join(u.n.path, u.name), strings.TrimSuffix(repo.Root, "/")+"/"); ok {
			at[rel] = i
		}
	}
	type match struct {
		clean
		git.Entry
	}
	var list []match
	written, err := git.Entries(repo, func(e git.Entry) {
		if i, ok := at[string(e.Path)]; ok && e.Plain && e.Mode&0o170000 == 0o100000 && sc.unread[i].at.matches(e) {
			list = append(list, match{clean{i, string(e.Path), e.ID}, e})
		}
	})
	var out []clean
	for _, m := range list {
		if !sc.unread[m.at].at.racy(written) {
			out = append(out, m.clean)
		}
	}
	return out, err
}

// matches reports whether the stat data are those of git's index, where numbers have 32 bits.
func (s stamp) matches(e git.Entry) bool {
	return s.mtime == e.Mtime && s.ctime == e.Ctime && uint32(s.ino) == e.Ino && uint32(s.size) == e.Size && s.ino != 0
}

// Objects are read from git so many, and so many bytes, at once.
const (
	fetchFiles = 256
	fetchBytes = 16 << 20
)

// resolve stores the contents before of changes that only git kept so far, and leaves the changes out that turn out to
// be none. A content that git has no more is one that is not covered.
func (s *Store) resolve(ctx context.Context, root string, changes []Change) ([]Change, error) {
	var list []*State
	var bytes int64
	flush := func() error {
		err := s.fetch(ctx, root, list)
		list, bytes = nil, 0
		return err
	}
	for i := range changes {
		if b := &changes[i].Before; b.inGit {
			list, bytes = append(list, b), bytes+b.Size
		}
		if len(list) >= fetchFiles || bytes >= fetchBytes {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	out := changes[:0]
	for _, c := range changes {
		if !c.Before.same(c.After) {
			out = append(out, c)
		}
	}
	return out, nil
}

// fetch stores the contents of states that git keeps.
func (s *Store) fetch(ctx context.Context, root string, list []*State) error {
	if len(list) == 0 {
		return nil
	}
	ids := make([]git.ID, len(list))
	for i, st := range list {
		ids[i] = git.ID(st.Hash[:len(git.ID{})])
	}
	blobs := make([][]byte, len(list))
	if repo, ok := git.Find(root); ok && s.opt.Git != nil {
		if got, err := s.opt.Git.Blobs(ctx, repo, ids); err == nil {
			blobs = got
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, st := range list {
		st.inGit = false
		if blobs[i] == nil || int64(len(blobs[i])) != st.Size {
			st.Uncovered = "git does not have it any more"
			continue
		}
		st.Hash = sha256.Sum256(blobs[i])
		if err := s.keep(st.Hash, blobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// fetched is the state of a file of a tree with its content stored: from the file while it did not change, else from
// git.
func (s *Store) fetched(t *tree, path string, e entry) (State, error) {
	now, at, sure, err := s.take(path)
	if err != nil {
		return now, err
	}
	if at == e.at && e.sure && now.Kind == File && now.Uncovered == "" {
		t.put(path, at, sure, now)
		return now, nil
	}
	st := e.State
	return st, s.fetch(context.Background(), t.root.path, []*State{&st})
}
