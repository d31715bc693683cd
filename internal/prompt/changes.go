package prompt

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/git"
)

// The rows of the environment that change while a session lasts. The conversation itself records which value the model
// has: the newest row of the name counts.
const (
	rowDate      = "Date"
	rowBranch    = "Branch"
	rowMode      = "Permission mode"
	rowQuestions = "Questions"
)

const (
	nobodyAnswers = "nobody answers; decide, and name your assumptions"
	userAnswers   = "the user answers them"
)

// Changes are the parts for a later message: the rows and the memory that differ from those that the conversation has.
// There are none when everything is as it was.
func Changes(o ContextOptions, msgs []llm.Message) []llm.Part {
	known, memory := given(msgs)
	var b strings.Builder
	for _, r := range changing(o) {
		old, ok := known[r.name]
		if !ok {
			old = r.first
		}
		if r.value != "" && r.value != old {
			b.WriteString(r.name + ": " + r.value + "\n")
		}
	}
	b.WriteString(changedFiles(o.ChangedFiles))
	var out []llm.Part
	if b.Len() > 0 {
		s := Section{Name: "changes", Text: b.String()}
		out = append(out, llm.Text{Text: reminder("Changed since:\n" + s.element()), Origin: llm.OriginReminder})
	}
	if o.NoMemory {
		return out
	}
	if text := LoadMemory(o).Text(); text != "" && reminder(text) != memory {
		out = append(out, llm.Text{Text: reminder(text), Origin: llm.OriginMemory})
	}
	return out
}

// mostChanged is the most changed files that are named.
const mostChanged = 20

// changedFiles names the files that others changed.
func changedFiles(names []string) string {
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Files that changed since you saw them, and not by you; read them again before you use what you know " +
		"of them:\n")
	for _, n := range names[:min(len(names), mostChanged)] {
		b.WriteString("  " + oneLine(n, 300) + "\n")
	}
	if more := len(names) - mostChanged; more > 0 {
		fmt.Fprintf(&b, "  … and %d more\n", more)
	}
	return b.String()
}

// row is a line of the environment; first is the value that a conversation has that never names it.
type row struct{ name, value, first string }

// changing are the rows as they are now.
func changing(o ContextOptions) []row {
	out := []row{{rowDate, date(o), date(o)}}
	if repo, ok := git.Find(o.Dir); ok {
		branch := branchText(repo)
		out = append(out, row{rowBranch, branch, branch})
	}
	mode, questions := o.Mode, userAnswers
	if mode == "" {
		mode = "default"
	}
	if o.NobodyAnswers {
		questions = nobodyAnswers
	}
	return append(out, row{rowMode, oneLine(mode, 60), "default"}, row{rowQuestions, questions, userAnswers})
}

// given are the newest values of the rows in a conversation, and its newest memory.
func given(msgs []llm.Message) (rows map[string]string, memory string) {
	rows = map[string]string{}
	for _, m := range msgs {
		for _, p := range m.Parts {
			t, ok := p.(llm.Text)
			switch {
			case !ok:
			case t.Origin == llm.OriginMemory && strings.Contains(t.Text, memoryIntro):
				memory = t.Text
			case t.Origin == llm.OriginContext || t.Origin == llm.OriginReminder:
				readRows(t.Text, rows)
			}
		}
	}
	return rows, memory
}

func readRows(text string, rows map[string]string) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		if !ok {
			continue
		}
		switch name {
		case rowBranch:
			value, _, _ = strings.Cut(value, " (main branch: ")
			rows[name] = value
		case rowDate, rowMode, rowQuestions:
			rows[name] = value
		}
	}
}

// branchText is the branch as the first message has it.
func branchText(r git.Repo) string {
	switch {
	case r.Branch != "":
		return oneLine(r.Branch, 200)
	case len(r.Head) >= 12:
		return "none, HEAD is detached at " + r.Head[:12]
	}
	return "unknown"
}
