// Package invoke brings skills into a conversation: it lists them to the model, loads one when a person types
// /name or the model calls the Skill tool, and says which of their texts a compaction keeps.
//
// The words: to load a skill is to put its body, with arguments, command output and files filled in, into the
// conversation as a text of origin llm.OriginSkill; a skill is active from then to the end of the turn; the listing
// is the names and descriptions that the model is given, and a change is a skill that was added, changed or removed
// since.
//
// A skill with "context: fork" is not loaded: an agent does it, and its answer takes the text's place.
//
// Promises: nothing runs but through Host.Run and Host.Task and nothing is read but through Host.Read, which ask for
// permission; a command that fails or is refused leaves a note in its place and never stops the prompt; the rules of a
// skill end with its turn; a listing that was sent is never edited, changes are appended.
package invoke

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Host is the conversation that skills are loaded into. All functions except NoShell are required.
type Host struct {
	Library *skill.Library
	Policy  *permission.Policy
	Chain   []string // of the agent, as [permission.Request.Agent]
	Tools   Tools
	Trusted func() bool // the user trusts the project's files
	// a shell command's output, and whether it ran without an error
	Run       func(ctx context.Context, line string) (string, bool)
	Task      func(ctx context.Context, t Task) (string, bool)  // an agent's answer, or why there is none
	Read      func(ctx context.Context, path string) []llm.Part // a file to attach; nil: none to attach
	AddRoot   func(dir string)                                  // lets the files of a folder be read
	Notice    func(level, text string)                          // to the user
	Clean     func(text string) string                          // makes foreign text safe to send
	Variables func() map[string]string                          // for ${NAME} in bodies
	Messages  func() []llm.Message
	Revision  func() int // changes whenever Messages does otherwise than to grow
	Dir       string     // the base of the patterns of paths:
	Budget    func() int // of the listing, in characters

	// puts a skill's hooks in force; nil: skills with hooks are refused
	Hooks func(ctx context.Context, s *skill.Skill) error

	Nested  bool        // use skills of folders below Dir once a file there is touched
	NoShell func() bool // whether disableSkillShellExecution is set; nil: no

	// Use has a model, and an effort if it is not empty, answer until back is called
	Use func(ctx context.Context, model, effort string) (back func(), err error)
}

// Tools knows the names of all tools.
type Tools interface {
	permission.Tools
	Names() []string
}

// Loader loads skills into one conversation. It is safe for concurrent use.
type Loader struct {
	Host

	mu       sync.Mutex
	backs    []func()          // end the rules of the active skills
	forks    []fork            // typed in this turn, still to run
	running  []fork            // at work now
	told     map[string]string // descriptions as they were listed, by name; nil: they are to be found in the messages
	revision int               // of the messages when told was found
	paths    bool              // the catalog has skills that wait for a file to be touched
	walked   int               // messages whose calls were searched for files
	files    map[string]bool   // that calls named
	fresh    []string          // those that BeforeStep has not seen
	offered  bool              // there was a skill for the model
	counted  bool              // offered is known
}

// New makes a loader. It reads nothing.
func New(h Host) *Loader { return &Loader{Host: h} }

// Typed finds the skill that a prompt invokes: "/name arguments".
func Typed(c *skill.Catalog, text string) (s *skill.Skill, args string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return nil, "", false
	}
	name := rest
	if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	if name == "" {
		return nil, "", false
	}
	s, ok = c.Get(name)
	return s, args, ok
}

// Message adds to a message of the user the skill that it invokes and the changes since the listing. The
// text that was typed stays as it is.
func (l *Loader) Message(ctx context.Context, m llm.Message) llm.Message {
	if has(m, llm.OriginSkill) {
		return m // sent again as it was
	}
	catalog := l.Library.Catalog()
	parts := append(l.interrupted(catalog), l.changes(catalog)...)
	if s, args, ok := Typed(catalog, typed(m)); ok {
		switch {
		case s.HiddenFromUser:
			l.Notice("warning", fmt.Sprintf("/%s is for the model only (user-invocable: false); it was not loaded", s.Name))
		case s.Fork:
			parts = append(parts, l.later(s, args)...)
		default:
			parts = append(parts, l.load(ctx, s, args, true)...)
		}
	}
	if len(parts) > 0 {
		m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], parts...)
	}
	return m
}

// typed is the first text of a message that its author wrote.
func typed(m llm.Message) string {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginAuthor {
			return t.Text
		}
	}
	return ""
}

func has(m llm.Message, origin llm.Origin) bool {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == origin {
			return true
		}
	}
	return false
}

// Load loads a skill for the model. Of a skill that runs in its own agent it returns the answer, as a part
// without origin.
func (l *Loader) Load(ctx context.Context, name, args string) ([]llm.Part, error) {
	catalog := l.Library.Catalog()
	s, ok := catalog.Get(name)
	switch {
	case !ok:
		var names []string
		for _, s := range catalog.ForModel(l.matches()) {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf("there is no skill %q; the skills are: %s", name, strings.Join(names, ", "))
	case s.HiddenFromModel:
		return nil, fmt.Errorf("only the user may invoke %s (disable-model-invocation); ask them to type /%s", s.Name, s.Name)
	case s.Fork:
		answer, err := l.fork(ctx, s, args, false)
		if err != nil {
			return nil, err
		}
		return []llm.Part{llm.Text{Text: answer}}, nil
	}
	return l.load(ctx, s, args, false), nil
}

// Preload loads the skills that an agent's file names. One that cannot be loaded is a notice.
func (l *Loader) Preload(ctx context.Context, names []string) (out []llm.Part) {
	catalog := l.Library.Catalog()
	for _, name := range names {
		switch s, ok := catalog.Get(name); {
		case !ok:
			l.Notice("warning", fmt.Sprintf("the agent's skill %s was not loaded: there is none of this name", name))
		case s.HiddenFromModel, s.Fork:
			l.Notice("warning", fmt.Sprintf("the agent's skill %s was not loaded: only the user may invoke it, or it runs in "+
				"an agent of its own", name))
		default:
			out = append(out, l.load(ctx, s, "", false)...)
		}
	}
	return out
}

// load renders a skill and makes it active.
func (l *Loader) load(ctx context.Context, s *skill.Skill, args string, byUser bool) []llm.Part {
	body, err := s.Body()
	if err != nil {
		l.Notice("warning", err.Error())
		return []llm.Part{llm.Text{Text: wrap(s, "[The skill cannot be read: "+err.Error()+"]"), Origin: llm.OriginSkill}}
	}
	if err := l.hook(ctx, s); err != nil {
		l.Notice("warning", fmt.Sprintf("/%s was not loaded: %v", s.Name, err))
		return []llm.Part{llm.Text{
			Text:   wrap(s, "[The skill was not loaded: "+l.Clean(err.Error())+"]"),
			Origin: llm.OriginSkill,
		}}
	}
	variables := l.variables(s)
	l.activate(s, variables, byUser)
	l.use(ctx, s, byUser)
	text, files := l.render(ctx, s, skill.NewTemplate(body, s.Arguments).Render(skill.Call{
		Arguments: args,
		Variables: variables,
	}))
	whole := wrap(s, l.Clean(text))
	if l.holds(whole) {
		whole = wrap(s, alreadyThere)
	}
	return append([]llm.Part{llm.Text{Text: whole, Origin: llm.OriginSkill}}, files...)
}

// hook puts the hooks of a skill in force.
func (l *Loader) hook(ctx context.Context, s *skill.Skill) error {
	switch {
	case s.Hooks == nil:
		return nil
	case l.Hooks == nil:
		return errors.New("its hooks cannot run here")
	}
	return l.Hooks(ctx, s)
}

// Expansion describes the skill that a prompt invokes; ok is false if it invokes none.
func (l *Loader) Expansion(m llm.Message) (name, args, source, line string, ok bool) {
	line = typed(m)
	s, args, ok := Typed(l.Library.Catalog(), line)
	if !ok || s.HiddenFromUser || has(m, llm.OriginSkill) {
		return "", "", "", "", false
	}
	return s.Name, args, s.Source, line, true
}

// variables are the values of ${NAME} in the files of a skill.
func (l *Loader) variables(s *skill.Skill) map[string]string {
	out := l.Variables()
	maps.Copy(out, s.Vars)
	out["CLAUDE_SKILL_DIR"] = s.Dir
	return out
}

// render puts the output of commands in their places and gathers the files.
func (l *Loader) render(ctx context.Context, s *skill.Skill, pieces []skill.Part) (string, []llm.Part) {
	var b strings.Builder
	var files []llm.Part
	for _, p := range pieces {
		switch p.Kind {
		case skill.PartText:
			b.WriteString(p.Text)
		case skill.PartCommand:
			b.WriteString(l.output(ctx, s, p.Text))
		case skill.PartFile:
			b.WriteString("@" + p.Text)
			files = append(files, l.Read(ctx, s.File(p.Text))...)
		}
	}
	return b.String(), files
}

// output is the text that takes the place of a command.
func (l *Loader) output(ctx context.Context, s *skill.Skill, line string) string {
	if l.NoShell != nil && l.NoShell() {
		return "[shell command execution disabled by policy]"
	}
	if s.Shell != "" && s.Shell != "bash" {
		l.Notice("warning", fmt.Sprintf("/%s: %s was not run: lathe has no shell %q for skills", s.Name, line, s.Shell))
		return fmt.Sprintf("[not run: %s]", line)
	}
	text, ok := l.Run(ctx, line)
	if ok {
		return text
	}
	l.Notice("warning", fmt.Sprintf("/%s: %s: %s", s.Name, line, firstLine(text)))
	return fmt.Sprintf("[%s failed: %s]", line, text)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// use has the model and effort of a skill that a person typed answer until EndTurn. A skill that the model loads in the
// middle of a turn changes neither, since the provider's cache would be lost.
func (l *Loader) use(ctx context.Context, s *skill.Skill, byUser bool) {
	model := s.Model
	if strings.EqualFold(model, "inherit") {
		model = ""
	}
	if model == "" && s.Effort == "" {
		return
	}
	if !byUser || l.Use == nil || s.Source == skill.SourceProject && !l.Trusted() { // models judge too
		if model != "" {
			l.Notice("info", fmt.Sprintf("/%s asks for the model %s; the conversation's model goes on", s.Name, model))
		}
		return
	}
	back, err := l.Use(ctx, model, s.Effort)
	if err != nil {
		l.Notice("warning", fmt.Sprintf("/%s asks for the model %s, which cannot be used; the conversation's model goes on: %v",
			s.Name, model, err))
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backs = append(l.backs, back)
}

const (
	opening = `<skill name="`
	closing = "</skill>"
	// alreadyThere represents a text that the conversation holds.
	alreadyThere = "[This skill is in the conversation already, word for word the same. Follow it now.]"
)

// wrap puts a body between tags that it cannot close, with where its files are.
func wrap(s *skill.Skill, text string) string {
	head := opening + s.Name + "\">\n"
	if s.Kind == skill.KindSkill {
		head += "The files that belong to this skill are in " + s.Dir + ".\n\n"
	}
	return head + strings.ReplaceAll(strings.TrimSpace(text), closing, "&lt;/skill>") + "\n" + closing
}

// nameOf is the name of the skill that a loaded text is of.
func nameOf(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, opening)
	name, _, closed := strings.Cut(rest, "\"")
	return name, ok && closed
}

// holds reports whether a loaded text is in the conversation as it is.
func (l *Loader) holds(text string) bool {
	for _, m := range l.Messages() {
		for t := range loaded(m.Parts) {
			if t == text {
				return true
			}
		}
	}
	return false
}
