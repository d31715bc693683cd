package invoke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/llm"
)

// A skill with "context: fork" is the task of its own agent: its body is the agent's prompt, and only the agent's
// answer enters the conversation.

// Task is a task for an agent.
type Task struct {
	Skill  string
	Only   []string // the only tools of the agent; nil: those of its kind
	Kind   string   // of the agent
	Title  string
	Prompt string
	Model  string // "": the kind's
}

// fork is a skill that was typed and waits for the first step of its turn, when the message is on disk.
type fork struct {
	skill *skill.Skill
	args  string
}

// later keeps a typed skill for BeforeStep and returns the part that announces it.
func (l *Loader) later(s *skill.Skill, args string) []llm.Part {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forks = append(l.forks, fork{s, args})
	text := announced(s.Name) + l.Clean(s.Agent) + "). Its answer follows; do not do its work again."
	return []llm.Part{llm.Text{Text: reminder(text), Origin: llm.OriginSkill}}
}

// runForks runs the typed skills that wait, one after the other, and returns a message with their answers.
func (l *Loader) runForks(ctx context.Context) []llm.Message {
	l.mu.Lock()
	forks := l.forks
	l.forks, l.running = nil, forks
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running = nil
	}()
	var parts []llm.Part
	for _, f := range forks {
		head := answered(f.skill.Name)
		answer, err := l.fork(ctx, f.skill, f.args, true)
		if err != nil {
			head, answer = unfinished(f.skill.Name), err.Error()
		}
		parts = append(parts, llm.Text{Text: reminder(head + "\n\n" + answer), Origin: llm.OriginReminder})
	}
	if len(parts) == 0 {
		return nil
	}
	return []llm.Message{{Role: llm.User, Parts: parts}}
}

// The beginnings of the texts about a skill with its own agent. They are found again in the messages after a
// resume.
func announced(name string) string  { return "The skill " + name + " runs in an agent of its own (" }
func answered(name string) string   { return "The answer of the skill " + name + ":" }
func unfinished(name string) string { return "The skill " + name + " did not finish:" }

// interrupted is a part about the typed skills whose answer was announced and never came, since lathe was killed or the
// turn ended before, or none.
func (l *Loader) interrupted(c *skill.Catalog) []llm.Part {
	var parts []llm.Part
	var msgs []llm.Message
	for _, s := range c.All() {
		if !s.Fork {
			continue
		}
		if msgs == nil {
			msgs = l.Messages()
		}
		if !l.unanswered(msgs, s.Name) {
			continue
		}
		l.Notice("warning", fmt.Sprintf("The skill %s was interrupted before it had an answer; /%s runs it again", s.Name,
			s.Name))
		text := unfinished(s.Name) + " it was interrupted, and no answer follows. It runs again when the user types /" +
			s.Name + "."
		parts = append(parts, llm.Text{Text: reminder(text), Origin: llm.OriginReminder})
	}
	return parts
}

// unanswered reports whether the newest text about a skill announces an answer that is no longer under way.
func (l *Loader) unanswered(msgs []llm.Message, name string) bool {
	l.mu.Lock()
	pending := slices.ContainsFunc(slices.Concat(l.forks, l.running), func(f fork) bool { return f.skill.Name == name })
	l.mu.Unlock()
	if pending {
		return false
	}
	for _, m := range slices.Backward(msgs) {
		if m.Role != llm.User {
			continue
		}
		for _, p := range slices.Backward(m.Parts) {
			t, ok := p.(llm.Text)
			switch {
			case !ok:
			case t.Origin == llm.OriginSkill && strings.HasPrefix(t.Text, beginning(announced(name))):
				return true
			case t.Origin == llm.OriginReminder && (strings.HasPrefix(t.Text, beginning(answered(name))) ||
				strings.HasPrefix(t.Text, beginning(unfinished(name)))):
				return false
			}
		}
	}
	return false
}

// fork has an agent do the work of a skill. Its rules are in force until the agent is done. The error has the text of a
// task that failed.
func (l *Loader) fork(ctx context.Context, s *skill.Skill, args string, byUser bool) (string, error) {
	body, err := s.Body()
	if err != nil {
		return "", err
	}
	variables := l.variables(s)
	defer l.lend(s, variables, byUser)()
	text := l.prompt(ctx, s, skill.NewTemplate(body, s.Arguments).Render(skill.Call{
		Arguments: args,
		Variables: variables,
	}))
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("%s has no instructions", s.Path)
	}
	model := s.Model
	if strings.EqualFold(model, "inherit") {
		model = ""
	}
	answer, ok := l.Task(ctx, Task{
		Skill: s.Name, Only: l.limit(s), Kind: s.Agent, Title: "skill " + s.Name, Prompt: forkHead(s) + l.Clean(text),
		Model: model,
	})
	if !ok {
		return "", errors.New(cmp.Or(answer, "the agent gave no reason"))
	}
	return answer, nil
}

// forkHead begins the prompt, so that a body that starts with a slash does not invoke another skill.
func forkHead(s *skill.Skill) string {
	head := fmt.Sprintf("Do the task of the skill %s, below. Your last message is its result.\n", s.Name)
	if s.Kind == skill.KindSkill {
		head += "The files that belong to it are in " + s.Dir + ".\n"
	}
	return head + "\n"
}

// prompt is render for another conversation, which attaches the files itself: they are named so that it finds them.
func (l *Loader) prompt(ctx context.Context, s *skill.Skill, pieces []skill.Part) string {
	var b strings.Builder
	for _, p := range pieces {
		switch p.Kind {
		case skill.PartText:
			b.WriteString(p.Text)
		case skill.PartCommand:
			b.WriteString(l.output(ctx, s, p.Text))
		case skill.PartFile:
			b.WriteString("@" + strings.ReplaceAll(s.File(p.Text), " ", `\ `))
		}
	}
	return strings.TrimSpace(b.String())
}
