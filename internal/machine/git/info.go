package git

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
)

const (
	statusLines = 40 // of the short status that Info keeps
	commitCount = 5
)

// Info describes a repository at the start of a session.
type Info struct {
	Repo
	IsRepo  bool
	Status  *Status  // nil when it could not be read
	Commits []Commit // the last five, newest first
	Err     error    // why Status or Commits are missing; the rest holds
}

// Status is the state of the work tree. The counts are of paths.
type Status struct {
	Staged, Changed, Untracked, Conflicts int

	Upstream      string
	Ahead, Behind int
	Lines         []string // the first 40 in the short format of git status ("M  file"), in git's order
	More          int      // paths beyond those
	Cut           bool     // git had more to say than is read: the counts are too low
}

// Clean reports whether nothing differs from HEAD and nothing is untracked.
func (s *Status) Clean() bool { return s.Staged+s.Changed+s.Untracked+s.Conflicts == 0 && !s.Cut }

// Commit is one line of the log.
type Commit struct {
	ID      string // abbreviated
	Subject string
}

// Info asks git about the repository that dir is in. Its two questions run at the same time, each at most
// Timeout long. Outside a repository no process is started.
func (g *Git) Info(ctx context.Context, dir string) Info {
	repo, ok := Find(dir)
	if !ok {
		return Info{}
	}
	info := Info{Repo: repo, IsRepo: true}
	program, err := g.program(repo.Root)
	if err != nil {
		info.Err = err
		return info
	}
	over, err := g.overrides(ctx, program, repo, allScopes)
	if err != nil {
		info.Err = err
		return info
	}
	var wg sync.WaitGroup
	var statusErr, logErr error
	wg.Go(func() { info.Status, statusErr = g.status(ctx, program, repo, over) })
	wg.Go(func() { info.Commits, logErr = g.log(ctx, program, repo, over) })
	wg.Wait()
	info.Err = errors.Join(statusErr, logErr)
	return info
}

func (g *Git) status(ctx context.Context, program string, repo Repo, over [][2]string) (*Status, error) {
	out, err := g.run(ctx, program, repo, over, nil, []string{
		"status", "--porcelain=v2", "--branch", "-z",
		"--untracked-files=normal", "--ignore-submodules=dirty",
	})
	if err != nil && !errors.Is(err, ErrTooMuch) {
		return nil, err
	}
	s := parseStatus(string(out))
	s.Cut = err != nil
	return s, nil
}

// log asks for the last commits; a repository without any is not an error.
func (g *Git) log(ctx context.Context, program string, repo Repo, over [][2]string) ([]Commit, error) {
	if repo.Head == "" && repo.Branch != "" {
		return nil, nil
	}
	out, err := g.run(ctx, program, repo, over, nil, []string{
		"log", "-n" + strconv.Itoa(commitCount), "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color",
		"--no-decorate", "--no-patch", "--format=%h%x09%s", "-z",
	})
	if err != nil {
		return nil, err
	}
	var commits []Commit
	for _, l := range strings.Split(strings.TrimRight(string(out), "\x00\n"), "\x00") {
		if id, subject, ok := strings.Cut(l, "\t"); ok {
			commits = append(commits, Commit{id, subject})
		}
	}
	return commits, nil
}

// parseStatus reads git status --porcelain=v2 --branch -z (git-status(1)).
func parseStatus(out string) *Status {
	s := &Status{}
	records := strings.Split(out, "\x00")
	for i := 0; i < len(records); i++ {
		r := records[i]
		if len(r) < 2 {
			continue
		}
		switch r[0] {
		case '#':
			s.header(r)
		case '1':
			s.entry(r, 8)
		case '2':
			s.entry(r, 9)
			i++ // the old path follows
		case 'u':
			s.entry(r, 10)
		case '?':
			s.Untracked++
			s.line("??", r[2:])
		}
	}
	return s
}

func (s *Status) header(r string) {
	if name, ok := strings.CutPrefix(r, "# branch.upstream "); ok {
		s.Upstream = name
	}
	if ab, ok := strings.CutPrefix(r, "# branch.ab "); ok {
		a, b, _ := strings.Cut(ab, " ")
		s.Ahead, _ = strconv.Atoi(strings.TrimPrefix(a, "+"))
		s.Behind, _ = strconv.Atoi(strings.TrimPrefix(b, "-"))
	}
}

// entry takes one changed path, which stands after n fields.
func (s *Status) entry(r string, n int) {
	f := strings.SplitN(r, " ", n+1)
	if len(f) <= n || len(f[1]) != 2 {
		return
	}
	xy := f[1]
	switch {
	case r[0] == 'u':
		s.Conflicts++
	default:
		if xy[0] != '.' {
			s.Staged++
		}
		if xy[1] != '.' {
			s.Changed++
		}
	}
	s.line(strings.ReplaceAll(xy, ".", " "), f[n])
}

func (s *Status) line(xy, path string) {
	if len(s.Lines) == statusLines {
		s.More++
		return
	}
	s.Lines = append(s.Lines, xy+" "+path)
}
