package prompt

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// ContextOptions are the sources of the context.
type ContextOptions struct {
	Dir string // the working folder
	// the project's folder, which imports of its files may not leave; empty: the repository's, else Dir
	Root       string
	Roots      []string // folders the session may work in besides Dir
	Home       string   // the user's; ~ in imports
	ClaudeHome string   // ~/.claude
	ConfigHome string   // lathe's own configuration folder
	Managed    []string // the organisation's memory files; nil: ManagedFiles()
	Environ    []string // "NAME=value"
	Model      string
	Window     int             // of the model, in tokens; 0: unknown
	Runner     *sandbox.Runner // starts git; nil: git's state is left out
	Git        bool            // include git's status and last commits
	GitWait    time.Duration   // how long Parts waits for them, since the first request waits too; 0: 150 ms
	Excludes   []string        // claudeMdExcludes: globs of memory files not to read
	// agentsMd: both; an AGENTS.md counts beside a CLAUDE.md of its folder
	BothMemories bool
	NoMemory     bool
	Notes        string // the index of the notes that the agent keeps about the project; empty: none

	Mode          string // the permission mode; empty: default
	NobodyAnswers bool   // questions, in this run

	Providers []Provider // of more sections, in their order
	Compacted bool       // it is for the message with a summary

	ChangedFiles []string // for Changes: names of files that differ from their text in the conversation

	NoUser, NoProject, NoLocal bool // leave out the memory of the user, of the project, of the user for the project

	// Refused says why the file at a path without links may not be read as memory, "" where it may. It is asked about
	// imports and about files behind links; own: the file is the user's or the organisation's. nil: all may be read.
	Refused func(path string, own bool) string

	// Loaded hears of each memory file that the model gets; nil: no one does.
	Loaded func(Loaded)

	Now func() time.Time // nil: time.Now
}

// Pending is a context being built.
type Pending struct {
	git     chan git.Info
	late    context.CancelFunc // ends git
	waits   atomic.Bool        // the context was sent without the state that git tells
	memory  chan *Memory
	running []*running
	notes   []string // of sections that are left out
	cuts    []string // of memory
	memSize int      // of memory as it is sent, in bytes
	warns   []string // of memory
	o       ContextOptions
}

// Begin starts to build the context, beside whatever the caller does.
func Begin(ctx context.Context, o ContextOptions) *Pending {
	forGit, cancel := context.WithTimeout(ctx, 3*time.Second)
	p := &Pending{git: make(chan git.Info, 1), late: cancel, memory: make(chan *Memory, 1), o: o}
	go func() { p.git <- gitInfo(forGit, o) }()
	go func() {
		if o.NoMemory {
			p.memory <- &Memory{}
			return
		}
		p.memory <- LoadMemory(o)
	}()
	for _, provider := range o.Providers {
		p.running = append(p.running, start(ctx, provider))
	}
	return p
}

// Sections waits for the context and returns its sections, memory last; empty ones are left out. When ctx ends first,
// some are missing. It is to be called once, by itself or through Parts or Message.
func (p *Pending) Sections(ctx context.Context) []Section {
	out := []Section{{"environment", "lathe", environment(p.o)}, {"git", "lathe", p.gitState()}}
	for _, a := range p.running {
		s, note := a.section(ctx)
		if note != "" {
			p.notes = append(p.notes, note)
		}
		if s.Text != "" {
			out = append(out, s)
		}
	}
	var m *Memory
	select {
	case m = <-p.memory:
	case <-ctx.Done():
		return out
	}
	p.o.loaded(m.Entries, p.o.reason(), "")
	p.cuts, p.warns = m.Cuts(), m.warnings
	text := m.Text()
	if p.memSize = len(text); text != "" {
		out = append(out, Section{memoryName, strings.Join(m.paths(), ", "), text})
	}
	return out
}

// memoryName is the section of the memory files.
const memoryName = "memory"

const (
	contextIntro   = "As it was when the session began:\n"
	compactedIntro = "As it was when the conversation was compacted:\n"
)

// Parts waits for the context, at most until ctx ends, and returns it: one text with its sections, and one with the
// memory.
func (p *Pending) Parts(ctx context.Context) []llm.Part {
	var text, memory string
	for _, s := range p.Sent(ctx) {
		if s.Name == memoryName {
			memory = s.Text
		} else {
			text += s.Text
		}
	}
	parts := []llm.Part{llm.Text{Text: text, Origin: llm.OriginContext}}
	if memory != "" {
		parts = append(parts, llm.Text{Text: memory, Origin: llm.OriginMemory})
	}
	return parts
}

// Sent is Sections with the texts as they are sent, one after the other.
func (p *Pending) Sent(ctx context.Context) []Section {
	out := p.Sections(ctx)
	last := len(out) - 1
	if out[last].Name == memoryName {
		out[last].Text = reminder(out[last].Text)
		last--
	}
	for i := range out[:last+1] {
		out[i].Text = out[i].element()
	}
	intro := contextIntro
	if p.o.Compacted {
		intro = compactedIntro
	}
	out[0].Text = "<system-reminder>\n" + intro + out[0].Text
	out[last].Text += "</system-reminder>"
	return out
}

// Notice names, after Parts, the sections and instructions that do not reach the model whole; empty when all do.
func (p *Pending) Notice() string {
	out := slices.Concat(p.notes, few(p.warns))
	if len(p.cuts) > 0 {
		out = append(out, fmt.Sprintf("instructions that do not reach the model whole: %s. A file may have %d characters, "+
			"all together %d.",
			strings.Join(few(p.cuts), "; "), entryLimit, memoryLimit)+p.share())
	}
	return strings.Join(out, "; ")
}

// share tells how much of the window the memory takes.
func (p *Pending) share() string {
	if p.o.Window <= 0 {
		return ""
	}
	return fmt.Sprintf(" They take about %d %% of the context window.", 100*llm.EstimateText(p.memSize)/p.o.Window)
}

// few is a list of at most five, and the number of the others.
func few(list []string) []string {
	if n := len(list); n > 5 {
		return append(slices.Clone(list[:5]), fmt.Sprintf("and %d more", n-5))
	}
	return list
}

// FirstMessage puts the context before the user's text in the first message of a session.
func FirstMessage(ctx context.Context, m llm.Message, o ContextOptions) llm.Message {
	return Begin(ctx, o).Message(ctx, m)
}

// Message is FirstMessage with a context that is being built already. It is to be called once.
func (p *Pending) Message(ctx context.Context, m llm.Message) llm.Message {
	m.Parts = append(p.Parts(ctx), m.Parts...)
	return m
}

// Precede puts the context before the first message of a conversation, with what has changed since it was begun, such
// as the mode. The error is the end of ctx. It is to be called once.
func (p *Pending) Precede(ctx context.Context, m *llm.Message, now ContextOptions) error {
	parts := p.Parts(ctx)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the prompt was not sent: %w", err)
	}
	now.NoMemory = true // it was just read
	parts = append(parts, Changes(now, []llm.Message{{Role: llm.User, Parts: parts}})...)
	m.Parts = append(parts, m.Parts...)
	return nil
}

func environment(o ContextOptions) string {
	var b strings.Builder
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
	row(rowDate, date(o))
	row("Model", o.Model)
	if o.Mode != "default" {
		row(rowMode, o.Mode)
	}
	if o.NobodyAnswers {
		row(rowQuestions, nobodyAnswers)
	}
	return b.String()
}

func date(o ContextOptions) string {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	return now().Format("2006-01-02 (Monday)")
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

// gitWait is how long the first request waits for git. In most repositories git takes a few milliseconds, on a busy
// machine some tens; in a large one with many changes its status can take seconds, and comes with a later request.
const gitWait = 150 * time.Millisecond

// gitInfo asks git about the repository, when there is one and o.Git wants that.
func gitInfo(ctx context.Context, o ContextOptions) git.Info {
	repo, ok := git.Find(o.Dir)
	if !ok || !o.Git || o.Runner == nil {
		return git.Info{Repo: repo, IsRepo: ok}
	}
	return git.New(o.Runner).WithEnviron(func() []string { return o.Environ }).Info(ctx, o.Dir)
}

// gitState is the state of the repository: from git, or when git takes too long from the files of the
// repository.
func (p *Pending) gitState() string {
	timer := time.NewTimer(cmp.Or(p.o.GitWait, gitWait))
	defer timer.Stop()
	select {
	case info := <-p.git:
		p.late()
		return gitText(info, p.o)
	case <-timer.C:
		p.waits.Store(true)
	}
	repo, ok := git.Find(p.o.Dir)
	text := gitText(git.Info{Repo: repo, IsRepo: ok}, p.o)
	if ok {
		text += "Status: not known yet, because git takes long to tell; it follows, or run git status when it matters\n"
	}
	return text
}

// LateGit is the state of the repository that came after the context was sent, once; "" before, and where it was in it.
func (p *Pending) LateGit() string {
	if p == nil || !p.waits.Load() {
		return ""
	}
	select {
	case info := <-p.git:
		p.waits.Store(false)
		p.late()
		if info.IsRepo && info.Status != nil {
			return gitText(info, p.o)
		}
	default:
	}
	return ""
}

func gitText(info git.Info, o ContextOptions) string {
	if !info.IsRepo {
		return "Git repository: no\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Git repository: %s", oneLine(info.Root, 1000))
	if info.Worktree {
		b.WriteString(" (a linked worktree)")
	}
	b.WriteString("\n")
	b.WriteString(rowBranch + ": " + branchText(info.Repo))
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
