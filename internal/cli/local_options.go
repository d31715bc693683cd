package cli

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// chosenTools is the value of --tools; nil means all. A name that is neither in the catalogue nor an MCP tool is a
// mistake; one of a tool that is not there (yet) leaves the model without it, as the first line shows.
func chosenTools(o *Options) ([]string, error) {
	if o.Bare && !o.Given("tools") {
		return []string{"Bash", "Read", "Edit"}, nil
	}
	if !o.Given("tools") || slices.Contains(o.Tools, "default") {
		return nil, nil
	}
	chosen, known := []string{}, tool.Catalogue()
	for _, name := range splitRules(o.Tools) {
		canonical := known.Name(name)
		if !looksLikeRule(canonical) || strings.Contains(canonical, "(") {
			hint := "lathe tool list shows the tools"
			if near := known.Nearest(canonical); near != "" {
				hint = "did you mean " + near + "? " + hint
			}
			return nil, usage(hint, "--tools: there is no tool %q", name)
		}
		chosen = append(chosen, canonical)
	}
	return chosen, nil
}

// checkRules refuses rules of the command line that cannot be read: one that was meant to deny must not
// be passed over.
func checkRules(flag string, texts []string) error {
	if _, errs := permission.ParseRules(tool.Catalogue(), texts, permission.Deny, permission.Source{Name: flag}); len(
		errs) > 0 {
		return &Error{Code: exitUsage, Err: errs[0]}
	}
	return nil
}

// maxPromptFile is the longest file of a system prompt, in bytes.
const maxPromptFile = 2 << 20

func textOrFile(flag, text, file string) (string, error) {
	if file == "" {
		return text, nil
	}
	b, err := config.ReadFile(file, maxPromptFile)
	if err != nil {
		return "", &Error{Code: exitUsage, Msg: flag + ": " + file, Err: err}
	}
	return string(b), nil
}
