// Package prompt builds the system prompt and the context of a conversation.
//
// The words: the system prompt ([System]) is lathe's own, the same bytes in every folder and on every day,
// so that providers can cache it; the context is everything that depends on the machine, the folder and the day, and
// rides in front of the first user message ([FirstMessage]), where it is stored with the session and never
// changes again; memory is the part of the context that people wrote into files (CLAUDE.md, AGENTS.md).
//
// Promises: text that came from files, git or the environment stands inside <system-reminder> tags that it
// cannot close, with invisible characters spelled out, bounded in size; nothing of a project reaches
// outside the project; a file that cannot be read is a note, not an error; git's status is left out rather
// than waited for.
package prompt

import (
	_ "embed"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

//go:embed system.md
var systemText string

// SystemOptions change the system prompt.
type SystemOptions struct {
	Replace  string // instead of lathe's own text, when not empty
	Append   string // after it
	Language string // the language of answers, in any words ("German"); empty: that of the user

	Commit, PullRequest *string // text that ends commit messages and pull requests; "" is none, nil leaves it to the model
}

// System returns the system prompt. The same options give the same bytes.
func System(o SystemOptions) []llm.Part {
	text := o.Replace
	if text == "" {
		text = strings.TrimSpace(systemText)
	}
	if o.Language != "" {
		text += "\n\n# Language\n\nWrite your answers in " + oneLine(strings.TrimSpace(o.Language), 60) + ". Code, identifiers and commands stay as they are."
	}
	if o.Commit != nil || o.PullRequest != nil {
		text += "\n\n# Attribution\n" + attribution("commit message", o.Commit) + attribution("description of a pull request", o.PullRequest)
	}
	if o.Append != "" {
		text += "\n\n" + strings.TrimSpace(o.Append)
	}
	return []llm.Part{llm.Text{Text: text}}
}

// attribution asks for the ending of a kind of text.
func attribution(kind string, text *string) string {
	switch {
	case text == nil:
		return ""
	case strings.TrimSpace(*text) == "":
		return "\nAdd nothing to a " + kind + " that names you or the tool that wrote it."
	}
	return "\nEnd every " + kind + " with exactly this text:\n\n" + strings.TrimSpace(*text) + "\n"
}
