package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
)

// change is what a review looks at.
type change struct {
	name string // in words
	text string // a diff, or files
	pull int    // the number of the pull request; 0: none
	base string // the commit that fixes begin at; empty: the present one
	read func(file string) ([]byte, error)
}

// mostReviewed bounds the text of a change, in bytes.
const mostReviewed = 200_000

var diffArgs = []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color"}

// changeOf finds the change that words name.
func (h *Host) changeOf(ctx context.Context, words []string) (ch change, err error) {
	g, repo, err := h.repo()
	if err != nil {
		return ch, err
	}
	ch.read = func(file string) ([]byte, error) {
		if !filepath.IsLocal(file) {
			return nil, errors.New("it is outside of the repository")
		}
		return os.ReadFile(filepath.Join(repo.Root, file))
	}
	diff := func(name string, args ...string) error {
		out, err := g.Run(ctx, repo, append(diffArgs[:len(diffArgs):len(diffArgs)], args...)...)
		if errors.Is(err, git.ErrTooMuch) {
			err = errors.New("the change is too large for a review; name paths or a smaller range")
		}
		ch.name, ch.text = name, string(out)
		return err
	}
	target := strings.Join(words, " ")
	number, _ := strconv.Atoi(strings.TrimPrefix(target, "#"))
	switch {
	case target == "":
		err = h.ownChange(ctx, g, repo, &ch, diff)
	case number > 0:
		err = h.pullChange(ctx, repo, &ch, number)
	case strings.Contains(target, "..") && len(words) == 1:
		from, to, _ := strings.Cut(strings.Replace(target, "...", "..", 1), "..")
		err = diff(target, from+"..."+to, "--")
	case h.paths(words):
		err = h.fileTexts(&ch, repo, words)
	case known(ctx, g, repo, "refs/heads/"+target):
		err = diff("the branch "+target, repo.Main+"..."+target, "--")
	case known(ctx, g, repo, target+"^{commit}"):
		ch.base = target
		err = diff("the commit "+target, target+"^", target, "--")
	default:
		err = fmt.Errorf("%q is no commit, branch, range (main..topic), pull request (#12) or path of this "+
			"repository", target)
	}
	ch.text = h.readable(repo, ch.text)
	if len(ch.text) > mostReviewed {
		err = errors.Join(err, fmt.Errorf("the change has %d kB; a review takes %d: name paths or a smaller range",
			len(ch.text)>>10, mostReviewed>>10))
	}
	return ch, err
}

func known(ctx context.Context, g *git.Git, repo git.Repo, name string) bool {
	_, err := g.Run(ctx, repo, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	return err == nil
}

// ownChange is what is not committed, or else what the branch has beyond the main one.
func (h *Host) ownChange(ctx context.Context, g *git.Git, repo git.Repo, ch *change,
	diff func(string, ...string) error,
) error {
	if err := diff("the uncommitted changes", "HEAD", "--"); err != nil {
		return err
	}
	untracked, err := g.Run(ctx, repo, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.TrimRight(string(untracked), "\x00"), "\x00") {
		if text, err := ch.read(name); name != "" && err == nil && bytes.IndexByte(text, 0) < 0 {
			ch.text += "diff --git a/" + name + " b/" + name + "\nnew file\n--- /dev/null\n+++ b/" + name + "\n+" +
				strings.ReplaceAll(strings.TrimRight(string(text), "\n"), "\n", "\n+") + "\n"
		}
	}
	if ch.text != "" {
		if out, err := g.Run(ctx, repo, "stash", "create"); err == nil { // so that fixes begin with the changes
			ch.base = strings.TrimSpace(string(out))
		}
		return nil
	}
	if repo.Main == "" || repo.Branch == repo.Main {
		return nil
	}
	return diff("the branch "+repo.Branch, repo.Main+"...HEAD", "--")
}

func (h *Host) paths(words []string) bool {
	for _, w := range words {
		if _, err := os.Stat(filepath.Join(h.Session().Dir(), w)); err != nil {
			return false
		}
	}
	return true
}

// fileTexts is whole files, and those of folders.
func (h *Host) fileTexts(ch *change, repo git.Repo, words []string) error {
	ch.name = strings.Join(words, ", ")
	var b strings.Builder
	for _, w := range words {
		err := filepath.WalkDir(filepath.Join(h.Session().Dir(), w), func(path string, d os.DirEntry, err error) error {
			name, relErr := filepath.Rel(repo.Root, path)
			switch {
			case err != nil || relErr != nil:
				return errors.Join(err, relErr)
			case d.IsDir() && d.Name() == ".git":
				return filepath.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			text, err := ch.read(filepath.ToSlash(name))
			if err == nil && bytes.IndexByte(text, 0) < 0 {
				fmt.Fprintf(&b, "diff --git a/%s b/%s\n+++ b/%s\n%s\n", name, name, name, text)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	ch.text = b.String()
	return nil
}

// readable leaves out the files of a diff that the rules do not let the agents read.
func (h *Host) readable(repo git.Repo, text string) string {
	may := h.Session().MayRead
	var out strings.Builder
	for i, part := range strings.Split("\n"+text, "\ndiff --git ") {
		if i == 0 {
			continue
		}
		name := ""
		for _, line := range strings.Split(part, "\n") {
			for _, side := range []string{"+++ b/", "--- a/"} {
				if after, ok := strings.CutPrefix(line, side); ok && name == "" {
					name = after
				}
			}
		}
		if name == "" || may(filepath.Join(repo.Root, name)) == permission.Allow {
			out.WriteString("diff --git " + part + "\n")
		}
	}
	return strings.TrimRight(out.String(), "\n")
}

// hub runs the user's client of the code host, with their environment.
func (h *Host) hub(ctx context.Context, stdin string, argv ...string) (string, error) {
	var out, problem bytes.Buffer
	exit, err := h.Instance.Runner().Run(ctx, sandbox.Spec{
		Argv: argv, Dir: h.Session().Dir(), Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &problem,
		Env: append(h.Instance.ChildEnv(), "GH_PROMPT_DISABLED=1", "NO_COLOR=1", "GLAB_NO_PROMPT=1"),
	})
	if err != nil {
		return "", fmt.Errorf("%s cannot be run: %w", argv[0], err)
	}
	if exit.Code != 0 {
		return "", fmt.Errorf("%s: %s", strings.Join(argv[:min(3, len(argv))], " "), short(problem.String(), 300))
	}
	return out.String(), nil
}

// client is the program for the code host of the repository.
func (h *Host) client(ctx context.Context, repo git.Repo) string {
	g := git.New(h.Instance.Runner()).WithEnviron(h.Instance.ChildEnv)
	remote, _ := g.Run(ctx, repo, "remote", "get-url", "origin") // without a remote, gh says what is missing
	if strings.Contains(string(remote), "gitlab") {
		return "glab"
	}
	return "gh"
}

// pullChange is a pull request that is checked out.
func (h *Host) pullChange(ctx context.Context, repo git.Repo, ch *change, number int) error {
	n := strconv.Itoa(number)
	ch.name, ch.pull = "pull request #"+n, number
	if h.client(ctx, repo) == "glab" {
		var err error
		ch.text, err = h.hub(ctx, "", "glab", "mr", "diff", n, "--color=never")
		return err
	}
	head, err := h.hub(ctx, "", "gh", "pr", "view", n, "--json", "headRefOid", "--jq", ".headRefOid")
	if err != nil {
		return err
	}
	if head = strings.TrimSpace(head); head != repo.Head {
		return fmt.Errorf("pull request #%d is not checked out here, so its code cannot be read: gh pr checkout %d", number,
			number)
	}
	ch.text, err = h.hub(ctx, "", "gh", "pr", "diff", n, "--color=never")
	return err
}
