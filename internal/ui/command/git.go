package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func diff(ctx context.Context, h *Host, args string) (event.Output, error) {
	switch args {
	case "git":
		d, err := h.gitDiff(ctx)
		if err != nil {
			return event.Output{}, err
		}
		if strings.TrimSpace(d) == "" {
			return text("Nothing differs from the last commit."), nil
		}
		return event.Output{Text: fenced("diff", d)}, nil
	case "all", "theirs":
		return diffSteps(h, args == "theirs")
	case "agents":
		return diffAgents(h)
	case "":
	default:
		return diffBranches(h, strings.Fields(args))
	}
	all := edits(h.Session())
	if len(all) == 0 {
		return text("lathe's edits changed no file in this session. /diff git shows what differs from the last commit."), nil
	}
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s +%d -%d\n\n%s\n\n", code(d.Path), d.Added, d.Removed, fenced("diff", d.Unified))
	}
	return event.Output{Text: b.String()}, nil
}

// stashed is uncommitted changes of a repository.
type stashed struct {
	Root  string
	Files []string // at most a few, as git writes them
	Total int
	Ref   string // the commit that holds them, once stashed
}

// edits merges the session's own edits by file, in the order of the first change, with paths relative to the working
// folder. It includes all branches:
// going back to an earlier message leaves files unchanged.
func edits(s *conversation.Session) []event.Diff {
	var out []event.Diff
	for e := range s.Log().All() {
		end, ok := e.Body.(session.CallEnd)
		if !ok || end.Denied || end.Result.IsError {
			continue
		}
		v, err := event.UnmarshalView(end.View)
		if d, isDiff := v.(event.Diff); err == nil && isDiff {
			for _, one := range d.Each() {
				out = merged(out, one)
			}
		}
	}
	for i := range out {
		if rel, err := filepath.Rel(s.Dir(), out[i].Path); err == nil && filepath.IsLocal(rel) {
			out[i].Path = rel
		}
	}
	return out
}

// merged adds a diff to the one of its file.
func merged(out []event.Diff, d event.Diff) []event.Diff {
	i := slices.IndexFunc(out, func(o event.Diff) bool { return o.Path == d.Path })
	if i < 0 {
		return append(out, d)
	}
	out[i].Unified = strings.TrimRight(out[i].Unified, "\n") + "\n" + d.Unified
	out[i].Added += d.Added
	out[i].Removed += d.Removed
	return out
}

// maxDiff limits the size of a diff that is shown, in bytes.
const maxDiff = 512 << 10

// gitTime limits git commands that the user waits for.
const gitTime = 20 * time.Second

func (h *Host) repo() (*git.Git, git.Repo, error) {
	repo, ok := git.Find(h.Session().Dir())
	if !ok {
		return nil, repo, errors.New("this folder is in no git repository")
	}
	g := git.New(h.Instance.Runner()).WithEnviron(h.Instance.ChildEnv)
	g.Timeout, g.MaxOutput = gitTime, maxDiff
	return g, repo, nil
}

// gitDiff shows the changes since the last commit, and untracked files.
func (h *Host) gitDiff(ctx context.Context) (string, error) {
	g, repo, err := h.repo()
	if err != nil {
		return "", err
	}
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD"}
	if repo.Head == "" && repo.Branch != "" { // no commit yet
		args = []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--cached"}
	}
	out, err := g.Run(ctx, repo, args...)
	if err != nil && !errors.Is(err, git.ErrTooMuch) {
		return "", err
	}
	text := string(out)
	if errors.Is(err, git.ErrTooMuch) {
		text += "\n[the rest is left out: git diff shows it]\n"
	}
	untracked, err := g.Run(ctx, repo, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return text, nil
	}
	for _, name := range strings.Split(strings.TrimRight(string(untracked), "\x00"), "\x00") {
		if name != "" {
			text += "untracked: " + name + "\n"
		}
	}
	return text, nil
}

// stashListed limits the changed paths that a stash names.
const stashListed = 30

// uncommitted lists the changes that stashAll would stash.
func (h *Host) uncommitted(ctx context.Context) (stashed, error) {
	g, repo, err := h.repo()
	if err != nil {
		return stashed{}, err
	}
	out, err := g.Run(ctx, repo, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
	if err != nil {
		return stashed{}, err
	}
	s := stashed{Root: repo.Root}
	for _, line := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		if s.Total++; len(s.Files) < stashListed {
			s.Files = append(s.Files, line)
		}
	}
	if more := s.Total - len(s.Files); more > 0 {
		s.Files = append(s.Files, fmt.Sprintf("and %d more", more))
	}
	return s, nil
}

// stashAll stashes the changes with untracked files, and records the commit that holds them.
func (h *Host) stashAll(ctx context.Context) (stashed, error) {
	s, err := h.uncommitted(ctx)
	if err != nil || s.Total == 0 {
		return s, err
	}
	g, repo, err := h.repo()
	if err != nil {
		return s, err
	}
	if repo.Head == "" && repo.Branch != "" {
		return s, errors.New("git can put nothing away before the first commit; make one first")
	}
	if name := filtered(ctx, g, repo); name != "" {
		return s, fmt.Errorf("%s names filters (as Git LFS has), which lathe does not run; put the changes away yourself: "+
			"git stash push --include-untracked", name)
	}
	if err := os.MkdirAll(filepath.Dir(h.stashFile()), 0o700); err != nil {
		return s, fmt.Errorf("the changes put away cannot be recorded: %w", err)
	}
	ident := []string{"-c", "user.name=lathe", "-c", "user.email=lathe@localhost"}
	if _, err := g.Run(ctx, repo, append(ident, "stash", "push", "--include-untracked", "--message", "lathe /undo "+
		time.Now().Format(time.DateTime))...); err != nil {
		return s, err
	}
	out, err := g.Run(ctx, repo, "rev-parse", "--verify", "refs/stash")
	if err != nil {
		return s, err
	}
	s.Ref = strings.TrimSpace(string(out))
	if err := os.WriteFile(h.stashFile(), []byte(s.Ref+"\n"+repo.Root+"\n"), 0o600); err != nil {
		return s, fmt.Errorf("the changes are in git's stash, but that cannot be remembered: %w; take them back with: git "+
			"stash apply %s", err, s.Ref)
	}
	return s, nil
}

// filtered names an attributes file that configures content filters. lathe runs git without filters, so a
// stash would write unfiltered contents to the work tree.
func filtered(ctx context.Context, g *git.Git, repo git.Repo) string {
	paths := []string{filepath.Join(repo.CommonDir, "info", "attributes"), filepath.Join(repo.Root, ".gitattributes")}
	out, err := g.Run(ctx, repo, "ls-files", "--cached", "--others", "-z", "--", ".gitattributes", "**/.gitattributes")
	if err != nil {
		return ".gitattributes, which cannot be listed," // better refused than harmed
	}
	for _, name := range strings.Split(string(out), "\x00") {
		if name != "" {
			paths = append(paths, filepath.Join(repo.Root, filepath.FromSlash(name)))
		}
	}
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), "filter=") {
			return path
		}
	}
	return ""
}

// stashFile records the last stash, for all sessions.
func (h *Host) stashFile() string {
	return filepath.Join(h.Instance.Config().Paths().StateHome, "undo")
}

// unstash applies the changes that stashAll stashed last. The stash keeps them.
func (h *Host) unstash(ctx context.Context) (stashed, error) {
	g, repo, err := h.repo()
	if err != nil {
		return stashed{}, err
	}
	b, err := os.ReadFile(h.stashFile())
	ref, root, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil || cmp.Or(root, repo.Root) != repo.Root || ref == "" {
		return stashed{}, errors.New("/undo put nothing away in this repository; git stash list shows what others did")
	}
	if _, err := g.Run(ctx, repo, "stash", "apply", "--index", ref); err != nil {
		return stashed{}, fmt.Errorf("%w; nothing is lost: git stash apply %s by hand", err, ref)
	}
	return stashed{Root: repo.Root, Ref: ref}, nil
}
