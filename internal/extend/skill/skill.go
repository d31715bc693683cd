// Package skill finds the instruction files that a person or the model invokes by name, and turns an
// invocation into the text the model gets.
//
// The words: a skill is a folder with a SKILL.md; a command is a single Markdown file in a commands folder;
// both are a [Skill] here, because only where they lie differs. A [Catalog] is all that a session can see. A
// [Template] is a body cut at its placeholders; [Template.Render] puts the arguments in. Commands (!`cmd`) and
// attached files (@path) in a body are found before the arguments are put in, so that an argument can never
// become one.
//
// Promises: a file that is broken in part is loaded as far as it makes sense, with a note; nothing of a body
// runs here: the caller runs commands and reads files, under permission; the text of a command's output is
// not scanned again.
package skill

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
	"github.com/lathe-dev/lathe/internal/base/glob"
)

// Limits of reading and listing.
const (
	maxFile        = 1 << 20 // bytes of a skill or command file
	maxDescription = 1536    // characters of a description and its when_to_use in a listing
)

// Kind distinguishes a skill from a command.
type Kind string

// The two kinds.
const (
	KindSkill   Kind = "skill"
	KindCommand Kind = "command"
)

// Skill is one instruction file, without its body.
type Skill struct {
	Name   string // as it is invoked: "review", "plugin:review", "frontend:test"
	Kind   Kind
	Source string            // who brought it, in words: "user", "project", "settings", "organisation", a plugin's name
	Path   string            // the file
	Dir    string            // the folder that holds the file and its supporting files
	Root   string            // the skills or commands folder it was found in
	Vars   map[string]string // for ${NAME}: those of its plugin

	Label        string // name: in the frontmatter, when it cannot be typed
	Alias        string // the name of a skill's folder, when its file gives another name; "": none
	Description  string // never empty
	WhenToUse    string
	ArgumentHint string
	Arguments    []string // names of positional arguments

	HiddenFromModel bool // disable-model-invocation: only a person invokes it
	HiddenFromUser  bool // user-invocable: false: only the model invokes it

	Tools           []string // the only tools while it is in force; nil: all
	AllowedTools    []string // rules allowed in the turn that invokes it; of a fork also all its tools; nil: none
	DisallowedTools []string
	Model, Effort   string
	Fork            bool   // context: fork: runs as a subagent
	Agent           string // the kind of that subagent
	Background      bool   // of a fork
	Paths           []string
	Shell           string
	Hooks           any // hooks, as YAML gives them
	License         string
	Compatibility   string
	Metadata        map[string]string
	Notes           []string // defects of the file that were worked around
}

// Load reads one file. The body is checked but not kept.
func Load(path string) (*Skill, error) {
	doc, err := read(path)
	if err != nil {
		return nil, err
	}
	s := &Skill{Path: path, Dir: filepath.Dir(path)}
	s.fill(doc)
	return s, nil
}

// File is where a file lies that the body names: beside the skill, if there is one of that name, else as it is named.
func (s *Skill) File(name string) string {
	if s.Kind == KindSkill && filepath.IsLocal(name) {
		if beside := filepath.Join(s.Dir, name); exists(beside) {
			return beside
		}
	}
	return name
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Body reads the instructions, as they are now.
func (s *Skill) Body() (string, error) {
	doc, err := read(s.Path)
	return doc.Body, err
}

func read(path string) (frontmatter.Document, error) {
	info, err := os.Stat(path)
	if err != nil {
		return frontmatter.Document{}, fmt.Errorf("cannot read %s: %w", path, cause(err))
	}
	if !info.Mode().IsRegular() {
		return frontmatter.Document{}, fmt.Errorf("cannot read %s: it is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return frontmatter.Document{}, fmt.Errorf("cannot read %s: %w", path, cause(err))
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return frontmatter.Document{}, fmt.Errorf("cannot read %s: %w", path, cause(err))
	case len(src) > maxFile:
		return frontmatter.Document{},
			fmt.Errorf("cannot use %s: it has more than %d MB; move the details to files beside it", path, maxFile>>20)
	case strings.IndexByte(string(src), 0) >= 0:
		return frontmatter.Document{}, fmt.Errorf("cannot use %s: it is not text", path)
	}
	return frontmatter.Parse(src), nil
}

// cause is the reason without the path, which the message names already.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

func (s *Skill) fill(doc frontmatter.Document) {
	f := doc.Fields
	if doc.Problem != "" {
		s.note("the frontmatter is not valid YAML (%s); it was read line by line", doc.Problem)
	}
	s.Label = f.Text("name")
	s.WhenToUse = f.Text("when_to_use")
	s.ArgumentHint = hint(f)
	s.Arguments = f.List("arguments")
	s.HiddenFromModel, _ = f.Bool("disable-model-invocation")
	for _, name := range []string{"user-invokable", "user-invocable"} { // other programs have the first one
		if shown, ok := f.Bool(name); ok {
			s.HiddenFromUser = !shown
		}
	}
	s.Tools = f.List("tools")
	s.AllowedTools = f.List("allowed-tools")
	s.DisallowedTools = f.List("disallowed-tools")
	s.Model, s.Effort, s.Shell = f.Text("model"), f.Text("effort"), f.Text("shell")
	s.Hooks = f["hooks"]
	s.fork(f)
	s.Paths = f.List("paths")
	for _, p := range s.Paths {
		if _, err := glob.Compile(p); err != nil {
			s.note("its pattern %q matches no file: %v", cut(p, 100), err)
		}
	}
	s.License, s.Compatibility, s.Metadata = f.Text("license"), f.Text("compatibility"), f.Map("metadata")
	if s.Description = oneLine(f.Text("description")); s.Description == "" {
		s.Description = oneLine(firstParagraph(doc.Body))
	}
}

// hint keeps the brackets of "argument-hint: [file] [line]", which YAML may take for a list.
func hint(f frontmatter.Fields) string {
	if items, ok := f["argument-hint"].([]any); ok {
		var out []string
		for _, item := range items {
			out = append(out, fmt.Sprintf("[%v]", item))
		}
		return strings.Join(out, " ")
	}
	return f.Text("argument-hint")
}

func (s *Skill) fork(f frontmatter.Fields) {
	switch c := strings.ToLower(f.Text("context")); c {
	case "", "inline":
	case "fork":
		s.Fork, s.Background = true, true
		if b, ok := f.Bool("background"); ok {
			s.Background = b
		}
	default:
		s.note("context: %s is neither inline nor fork; it runs inline", c)
	}
	if s.Agent = f.Text("agent"); s.Agent == "" && s.Fork {
		s.Agent = "general-purpose"
	}
}

func (s *Skill) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// firstParagraph is the first text of a body that is not a heading.
func firstParagraph(body string) string {
	var out []string
	for l := range strings.SplitSeq(body, "\n") {
		l = strings.TrimSpace(l)
		switch {
		case l == "" && len(out) > 0:
			return strings.Join(out, " ")
		case l != "" && (len(out) > 0 || !strings.HasPrefix(l, "#")):
			out = append(out, l)
		}
		if len(out) == 20 {
			break
		}
	}
	return strings.Join(out, " ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Summary is the description and when to use it, as the model sees it, at most 1,536 characters.
func (s *Skill) Summary() string {
	text := s.Description
	if s.WhenToUse != "" {
		text = strings.TrimSuffix(text, ".") + ". " + oneLine(s.WhenToUse)
	}
	return cut(text, maxDescription)
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}
