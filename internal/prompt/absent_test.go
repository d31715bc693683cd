package prompt_test

import (
	"regexp"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/tool"
)

// A text about a tool is in the tool's own description: where a tool is absent, nothing speaks of it.
func TestTheSystemPromptNamesNoTool(t *testing.T) {
	for _, model := range []string{"claude", "gpt-5", "gemini-3", "qwen"} {
		text := llm.Message{Parts: prompt.System(prompt.SystemOptions{Model: model})}.PlainText()
		for _, name := range tool.Catalogue().Names() {
			word := regexp.MustCompile(`\b` + name + `\b( tool|\()|the ` + name + `\b`)
			if m := word.FindString(text); m != "" {
				t.Errorf("%s: %q", model, m)
			}
		}
	}
}
