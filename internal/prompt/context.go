package prompt

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/git"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/sandbox"
)

// ContextOptions say what the context is made of.
type ContextOptions struct {
	Dir        string   // the working folder
	Root       string   // the project's folder, which imports of its files may not leave; empty: the repository's, else Dir
	Roots      []string // folders the session may work in besides Dir
	Home       string   // the user's; ~ in imports
	ClaudeHome string   // ~/.claude
	ConfigHome string   // lathe's own configuration folder
	Managed    []string // the organisation's memory files; nil: ManagedFiles()
	Environ    []string // "NAME=value"
	Model      string
	Runner     *sandbox.Runner // starts git; nil: git's state is left out
	Git        bool            // tell git's status and last commits
	Excludes   []string        // claudeMdExcludes: globs of memory files not to read
	NoMemory   bool

	NoUser, NoProject, NoLocal bool // leave out the memory of the user, of the project, of the user for the project

	Now func() time.Time // nil: time.Now
}

// Pending is a context being built.
type Pending struct {
	git    chan string
	memory chan string
	o      ContextOptions
}

// Begin starts to build the context, beside whatever the caller does.
func Begin(ctx context.Context, o ContextOptions) *Pending {
	p := &Pending{git: make(chan string, 1), memory: make(chan string, 1), o: o}
	go func() { p.git <- gitContext(ctx, o) }()
	go func() {
		if o.NoMemory {
			p.memory <- ""
			return
		}
		p.memory <- LoadMemory(o).Text()
	}()
	return p
}

// Parts waits for the context and returns it.
func (p *Pending) Parts() []llm.Part {
	parts := []llm.Part{llm.Text{Text: reminder(environment(p.o) + <-p.git), Origin: llm.OriginContext}}
	if m := <-p.memory; m != "" {
		parts = append(parts, llm.Text{Text: reminder(m), Origin: llm.OriginMemory})
	}
	return parts
}

// FirstMessage puts the context before what the user said in the first message of a session.
func FirstMessage(ctx context.Context, m llm.Message, o ContextOptions) llm.Message {
	return Begin(ctx, o).Message(m)
}

// Message is FirstMessage with a context that is being built already. It is to be called once.
func (p *Pending) Message(m llm.Message) llm.Message {
	m.Parts = append(p.Parts(), m.Parts...)
	return m
}

func environment(o ContextOptions) string {
	var b strings.Builder
	b.WriteString("The environment, as it was when this session began:\n")
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, oneLine(value, 1000))
		}
	}
	row("Working folder", o.Dir)
	row("Other folders you may work in", strings.Join(otherRoots(o), ", "))
	row("Platform", runtime.GOOS+"/"+runtime.GOARCH)
	row("OS", osVersion())
	row("Shell", shellName(o.Environ))
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	row("Date", now().Format("2006-01-02 (Monday)"))
	row("Model", o.Model)
	return b.String()
}

func otherRoots(o ContextOptions) []string {
	var out []string
	for _, r := range o.Roots {
		if r != o.Dir {
			out = append(out, r)
		}
	}
	return out
}

// shellName is the shell that commands run in: the user's if it is bash or zsh, else bash. The last SHELL of
// environ counts, as in os/exec.
func shellName(environ []string) string {
	name := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, "SHELL="); ok {
			name = filepath.Base(v)
		}
	}
	switch name {
	case "bash", "zsh":
		return name
	case "", ".":
		return "bash"
	}
	return "bash (the user's own is " + name + ")"
}

// gitContext is the state of the repository: with o.Git what git says, else only what its files tell.
func gitContext(ctx context.Context, o ContextOptions) string {
	repo, ok := git.Find(o.Dir)
	if !ok {
		return "Git repository: no\n"
	}
	info := git.Info{Repo: repo, IsRepo: true}
	if o.Git && o.Runner != nil {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		info = git.New(o.Runner).WithEnviron(func() []string { return o.Environ }).Info(ctx, o.Dir)
	}
	return gitText(info, o)
}

func gitText(info git.Info, o ContextOptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Git repository: %s", oneLine(info.Root, 1000))
	if info.Worktree {
		b.WriteString(" (a linked worktree)")
	}
	b.WriteString("\n")
	switch {
	case info.Branch != "":
		fmt.Fprintf(&b, "Branch: %s", oneLine(info.Branch, 200))
	case info.Head != "":
		fmt.Fprintf(&b, "Branch: none, HEAD is detached at %s", info.Head[:12])
	default:
		b.WriteString("Branch: unknown")
	}
	if info.Main != "" && info.Main != info.Branch {
		fmt.Fprintf(&b, " (main branch: %s)", oneLine(info.Main, 200))
	}
	b.WriteString("\n")
	if o.Git {
		statusText(&b, info)
	}
	return b.String()
}

func statusText(b *strings.Builder, info git.Info) {
	if s := info.Status; s != nil {
		if s.Upstream != "" && (s.Ahead > 0 || s.Behind > 0) {
			fmt.Fprintf(b, "Upstream: %s, %d ahead, %d behind\n", oneLine(s.Upstream, 200), s.Ahead, s.Behind)
		}
		b.WriteString("Status: " + summary(s) + "\n")
		for _, l := range s.Lines {
			b.WriteString("  " + oneLine(l, 200) + "\n")
		}
		if s.More > 0 {
			fmt.Fprintf(b, "  … and %d more\n", s.More)
		}
	}
	if len(info.Commits) > 0 {
		b.WriteString("Last commits:\n")
		for _, c := range info.Commits {
			fmt.Fprintf(b, "  %s %s\n", oneLine(c.ID, 40), oneLine(c.Subject, 150))
		}
	}
	if info.Err != nil {
		b.WriteString("Git could not tell everything: " + oneLine(info.Err.Error(), 200) + "\n")
	}
}

func summary(s *git.Status) string {
	if s.Clean() {
		return "clean"
	}
	var out []string
	for _, c := range []struct {
		n    int
		what string
	}{{s.Conflicts, "in conflict"}, {s.Staged, "staged"}, {s.Changed, "changed"}, {s.Untracked, "untracked"}} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	text := strings.Join(out, ", ")
	if s.Cut {
		text += " (and more: too many to count)"
	}
	return text
}
