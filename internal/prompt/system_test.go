package prompt

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// Providers cache the bytes of the system prompt: they change only on purpose.
func TestTheBytesOfTheSystemPromptOfEachFamily(t *testing.T) {
	for _, model := range []string{"claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "qwen3-coder"} {
		file := filepath.Join("testdata", "system-"+string(FamilyOf(model))+".txt")
		got := text(System(SystemOptions{Model: model})) + "\n"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
}

func TestTheFamilyOfAModel(t *testing.T) {
	for id, want := range map[string]Family{
		"claude-opus-4-1": Claude, "anthropic/claude-sonnet-4-5": Claude, "us.anthropic.claude-haiku-4-5-v1:0": Claude,
		"gpt-5": GPT, "openai/gpt-4.1-mini": GPT, "o3": GPT, "o4-mini": GPT, "codex-mini-latest": GPT,
		"chatgpt-4o-latest":       GPT,
		"models/gemini-2.5-flash": Gemini, "gpt-oss-120b": Open, "llama-3.3-70b": Open, "olmo-2": Open, "o1x": Open, "": Open,
	} {
		if got := FamilyOf(id); got != want {
			t.Errorf("%q is %s, want %s", id, got, want)
		}
	}
}

func TestSectionsStayWithinTheirLimits(t *testing.T) {
	seen := map[string]bool{}
	for _, model := range []string{"claude", "gpt-5", "gemini-3", "qwen"} {
		for _, s := range SystemSections(SystemOptions{Model: model, Language: strings.Repeat("Suomi ", 100)}) {
			seen[s.Name] = true
			if limit, ok := limits[s.Name]; !ok || len(s.Text) > limit {
				t.Errorf("%s: the section %s has %d bytes, the limit is %d", model, s.Name, len(s.Text), limit)
			}
		}
	}
	for name := range limits {
		if !seen[name] {
			t.Errorf("no section is called %s", name)
		}
	}
}

func TestEachSectionHasItsOriginAndPlace(t *testing.T) {
	trailer := "Made-With: lathe"
	o := SystemOptions{Model: "gpt-5", Agent: "You explore.", Language: "German", Commit: &trailer, Append: "mine"}
	var got []string
	for _, s := range SystemSections(o) {
		got = append(got, s.Name+" from "+s.Origin)
	}
	want := []string{
		"base from lathe", "family from lathe", "agent from the agent's kind", "language from setting language",
		"attribution from setting attribution", "user from --append-system-prompt",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	o.Replace = "other"
	if got := SystemSections(o)[:2]; got[0].Text != "other" || got[1].Name != "agent" {
		t.Errorf("a replaced prompt keeps lathe's own sections: %+v", got)
	}
}
