package consult

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// FileName is the plan's file in the folder of its session.
const FileName = "plan.md"

// maxPlan is the largest plan that can be put to a user, in bytes: it has to be read.
const maxPlan = 100_000

// Session is the session that a plan belongs to.
type Session struct {
	File  string // the plan's file, absolute with links resolved; empty: nothing is kept
	Asks  bool   // somebody answers
	Modes Modes
	// Folder is where approved plans are copied to, as the settings say; empty: nowhere.
	Folder func() string
	// Guide replaces the advice on how to plan; empty: lathe's own.
	Guide string
	// Fresh has text replace the conversation so far; the approved plan stays with it. Nil: that cannot be done.
	Fresh func(ctx context.Context, text string) error
}

// Modes is the permission mode of a session.
type Modes interface {
	Mode() permission.Mode
	Set(m permission.Mode) error
	PlannedFrom() permission.Mode // the mode that plan mode was entered from, or ""
	LeavePlan(to permission.Mode) // changes nothing when plan mode is not on any more
}

// Plan is the plan of one session. It is safe for concurrent use.
type Plan struct {
	Session

	mu     sync.Mutex
	chosen map[string]choice // of the user, by call
	told   told
	fresh  bool // the conversation is to be replaced before the next step
}

// choice is the user's answer to a plan.
type choice struct {
	id     string
	edited bool
}

// NewPlan makes the plan of a session.
func NewPlan(s Session) *Plan { return &Plan{Session: s, chosen: map[string]choice{}} }

// Exit is the input of ExitPlanMode. Without Plan the plan's file counts. The path is lathe's, for hosts and hooks.
type Exit struct {
	Plan string `json:"plan,omitempty"`
	Path string `json:"planFilePath,omitempty"`
}

// Draft is the plan that a call of ExitPlanMode puts to the user. The error is text for the model.
func (p *Plan) Draft(in Exit) (string, error) {
	text := strings.TrimSpace(in.Plan)
	if text == "" {
		var err error
		if text, err = p.Read(); err != nil {
			return "", err
		}
	}
	switch {
	case text == "" && p.File == "":
		return "", errors.New(`there is no plan; give it as "plan"`)
	case text == "":
		return "", fmt.Errorf(`there is no plan yet; write it to %s, or give it as "plan"`, p.File)
	case len(text) > maxPlan:
		return "", fmt.Errorf("the plan has %d bytes; the user has to read it, so keep it below %d", len(text), maxPlan)
	}
	return text, nil
}

// Read returns the text of the plan's file; empty when there is none.
func (p *Plan) Read() (string, error) { return ReadFile(p.File) }

// ReadFile returns the text of a plan's file; empty when there is none.
func ReadFile(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("the plan cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("the plan %s cannot be read: it is no file; remove what lies there", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the plan cannot be read: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err != nil {
		return "", fmt.Errorf("the plan cannot be read: %w", err)
	}
	if len(b) > maxPlan {
		return "", fmt.Errorf("the plan in %s is too long for the user to read; keep it below %d bytes", path, maxPlan)
	}
	return strings.TrimSpace(string(b)), nil
}

// keep writes the plan's file, unless it has the text already.
func (p *Plan) keep(text string) error {
	if p.File == "" {
		return nil
	}
	if old, err := p.Read(); err == nil && old == text {
		return nil
	}
	return replaceFile(p.File, text+"\n")
}

func replaceFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".lathe-tmp-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Approving is how ExitPlanMode asks.
func (p *Plan) Approving() Dialog {
	return Dialog{
		Question: p.askPlan, Decide: p.decidePlan,
		Nobody: "nobody can approve a plan in this run; end your turn with the plan as your answer",
	}
}

func (p *Plan) askPlan(a agent.Approval) (event.Question, error) {
	var in Exit
	if err := json.Unmarshal(a.Call.Input, &in); err != nil {
		return event.Question{}, err
	}
	if p.Modes.Mode() != permission.Plan {
		return event.Question{}, errors.New("plan mode is not on, so there is nothing to leave; go on with the work")
	}
	text, err := p.Draft(in)
	if err == nil {
		err = p.keep(text)
	}
	if err != nil {
		return event.Question{}, err
	}
	call := a.Call
	call.Input = encode(Exit{Plan: text, Path: p.File})
	q := event.Question{
		Agent: a.Agent, Title: "Approve this plan?", Consult: true, Call: &call, Free: true,
		Own:     "No, and say what to change",
		Preview: event.TextView{Text: text, Path: FileName, Language: "markdown"},
	}
	if before := p.Modes.PlannedFrom(); before == permission.Auto || before == permission.Bypass {
		q.Options = append(q.Options, event.Option{ID: event.ChoiceOnce, Label: "Yes, and go back to the mode " +
			string(before)})
	}
	q.Options = append(
		q.Options, event.Option{ID: event.ChoiceEdits, Label: "Yes, and accept edits"}, event.Option{
			ID:    event.ChoiceAsk,
			Label: "Yes, and ask before each edit",
		},
	)
	if p.Fresh != nil {
		q.Options = append(q.Options, event.Option{
			ID:    event.ChoiceFresh,
			Label: "Yes, accept edits, and clear the context but for the plan",
		})
	}
	q.Options = append(q.Options, event.Option{ID: event.ChoiceNo, Label: "No, keep planning"})
	return q, nil
}

func (p *Plan) decidePlan(a agent.Approval, ans event.Answer) permission.Decision {
	var in, changed Exit
	if json.Unmarshal(a.Call.Input, &in) != nil || ans.Canceled || ans.Choice == "" || ans.Choice == event.ChoiceNo ||
		ans.Choice == event.ChoiceNever {
		return refused("the user wants to keep planning", ans)
	}
	text, err := p.Draft(in)
	if err != nil {
		return refused(err.Error(), event.Answer{Text: "call ExitPlanMode again"})
	}
	c := choice{id: ans.Choice}
	if ans.Input != nil && json.Unmarshal(ans.Input, &changed) == nil && strings.TrimSpace(changed.Plan) != "" &&
		strings.TrimSpace(changed.Plan) != text {
		text, c.edited = strings.TrimSpace(changed.Plan), true
	}
	p.mu.Lock()
	p.chosen[a.CallID] = c
	p.mu.Unlock()
	d := allowed("the user approved the plan")
	d.Input = encode(Exit{Plan: text, Path: p.File})
	return d
}

// Approve carries out the user's answer to the plan of a call: the plan is kept, and the mode that was chosen follows.
func (p *Plan) Approve(call, text string) (*agent.Result, error) {
	p.mu.Lock()
	c := p.chosen[call]
	delete(p.chosen, call)
	p.mu.Unlock()
	if c.id == "" {
		return nil, errors.New("nobody has approved this plan")
	}
	if err := p.keep(text); err != nil {
		return nil, fmt.Errorf("the plan cannot be kept, so plan mode stays on: %w", err)
	}
	copied, copyErr := p.copy(text)
	p.Modes.LeavePlan(p.next(c.id))
	p.mu.Lock()
	p.told.on = false // the result says it
	p.fresh = c.id == event.ChoiceFresh && p.Fresh != nil
	p.mu.Unlock()
	return p.result(c, text, copied, copyErr), nil
}

func (p *Plan) result(c choice, text, copied string, copyErr error) *agent.Result {
	b := "The user approved the plan. Plan mode is off and the mode is " + string(p.Modes.Mode()) +
		": carry the plan out now."
	if p.File != "" {
		b += " It is kept in " + p.File + "."
	}
	if copied != "" {
		b += " A copy is in " + copied + "."
	}
	if copyErr != nil {
		b += " It could not be copied to the folder for plans: " + copyErr.Error() + "."
	}
	if c.edited {
		b += " The user changed it; this is the plan now:\n\n" + text
	}
	r := agent.TextResult(b)
	r.Title, r.View = Heading(text), event.TextView{
		Text: text, Path: FileName, Language: "markdown",
		Summary: "Approved: " + Heading(text),
	}
	r.Meta = map[string]any{"plan": text, "filePath": p.File, "isAgent": false}
	r.Unstored = []string{"plan"} // the call has it
	return r
}

// next is the mode that the user's answer chose.
func (p *Plan) next(id string) permission.Mode {
	switch before := p.Modes.PlannedFrom(); {
	case id == event.ChoiceAsk:
		return permission.Default
	case id == event.ChoiceEdits || id == event.ChoiceFresh:
		return permission.AcceptEdits
	case before != "" && before != permission.DontAsk:
		return before
	}
	return permission.Default
}

// copy puts the plan into the folder of the user's choice and returns its path there.
func (p *Plan) copy(text string) (string, error) {
	if p.Folder == nil {
		return "", nil
	}
	dir := p.Folder()
	if dir == "" {
		return "", nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the user's own folder
		return "", err
	}
	name := filepath.Join(dir, time.Now().Format("2006-01-02")+"-"+slug(Heading(text)))
	for n := 1; ; n++ {
		path := name + ".md"
		if n > 1 {
			path = fmt.Sprintf("%s-%d.md", name, n)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a document of the user's
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.WriteString(text + "\n")
		return path, errors.Join(err, f.Close())
	}
}

// Heading is the first heading of a plan, or its first line.
func Heading(text string) string {
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if h := strings.TrimLeft(line, "#"); h != line && strings.TrimSpace(h) != "" {
			return oneLine(h, 80)
		}
		if first == "" {
			first = line
		}
	}
	return oneLine(first, 80)
}

// slug is a heading as a file name.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 50 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "plan"
}
