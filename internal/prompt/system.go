package prompt

import (
	"embed"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

//go:embed text/*.md
var texts embed.FS

// Family is a line of models that wants its own text beside the base.
type Family string

// The families. Claude gets the base alone: it is written with it.
const (
	Claude Family = "claude"
	GPT    Family = "gpt"
	Gemini Family = "gemini"
	Open   Family = "open" // models with open weights, and unknown ones
)

// FamilyOf is the family of a model by its id, with or without a provider or vendor before it.
func FamilyOf(model string) Family {
	id := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, prefix := range []string{"o1", "o3", "o4"} {
		if id == prefix || strings.HasPrefix(id, prefix+"-") {
			return GPT
		}
	}
	switch {
	case strings.Contains(id, "claude"):
		return Claude
	case strings.Contains(id, "gpt-oss"):
		return Open
	case strings.HasPrefix(id, "gpt"), strings.HasPrefix(id, "chatgpt"), strings.HasPrefix(id, "codex"):
		return GPT
	case strings.HasPrefix(id, "gemini"):
		return Gemini
	}
	return Open
}

// SystemOptions choose the parts of the system prompt.
type SystemOptions struct {
	Model    string // chooses the family; empty: Claude's
	Agent    string // the text of the agent's kind; empty: the main agent
	Replace  string // instead of lathe's own text, when not empty
	Append   string // the user's, after everything else
	Style    Style  // how to answer; without a text: as the base says
	Language string // the language of answers, in any words ("German"); empty: that of the user

	Commit, PullRequest *string // text that ends commit messages and pull requests; "" is none, nil leaves it to the model
}

// limits are the longest texts of lathe's own sections, in bytes; a test holds the sections to them. The user's
// sections have no limit but the window's.
var limits = map[string]int{"base": 4_280, "family": 700, "language": 200}

// System returns the system prompt. The same options give the same bytes.
func System(o SystemOptions) []llm.Part {
	var all []string
	for _, s := range SystemSections(o) {
		all = append(all, s.Text)
	}
	return []llm.Part{llm.Text{Text: strings.Join(all, "\n\n")}}
}

// SystemSections are the parts of the system prompt, in their order; empty ones are left out. Texts about a tool are
// not among them: they are in the tool's description, so that an absent tool leaves no trace.
func SystemSections(o SystemOptions) []Section {
	var out []Section
	add := func(name, origin, text string) {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, Section{name, origin, text})
		}
	}
	if o.Replace != "" {
		add("base", "--system-prompt", o.Replace)
	} else {
		add("base", "lathe", o.Style.base(embedded("base")))
		add("family", "lathe", familyText(o.Model))
	}
	add("agent", "the agent's kind", o.Agent)
	add("style", "setting outputStyle", o.Style.section())
	if o.Language != "" {
		add("language", "setting language", "# Language\n\nWrite your answers in "+oneLine(strings.TrimSpace(o.Language), 60)+
			". Code, identifiers and commands stay as they are.")
	}
	if text := attribution("commit message", o.Commit) + attribution("description of a pull request",
		o.PullRequest); text != "" {
		add("attribution", "setting attribution", "# Attribution\n"+text)
	}
	add("user", "--append-system-prompt", o.Append)
	return out
}

// familyText is the text for the model's family, or empty.
func familyText(model string) string {
	f := FamilyOf(model)
	if model == "" || f == Claude {
		return ""
	}
	return "# In this session\n\n" + embedded(string(f))
}

func embedded(name string) string {
	b, err := texts.ReadFile("text/" + name + ".md")
	if err != nil {
		panic(err) // the binary was built without its texts
	}
	return strings.TrimSpace(string(b))
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
