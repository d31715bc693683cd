package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/base/frontmatter"
)

// hookOutputs are the fields of the output that have a meaning for an event, beside those that mean the same for all.
// "exit 2" is the exit code, "text" plain output, "" that the event fires. Those in hookElsewhere have tests of other
// kinds.
const hookOutputs = `
SessionStart        text additionalContext sessionTitle initialUserMessage watchPaths reloadSkills systemMessage exit 2
Setup               additionalContext exit 2
InstructionsLoaded
UserPromptSubmit    text additionalContext sessionTitle suppressOriginalPrompt decision reason continue stopReason exit 2
UserPromptExpansion text additionalContext decision reason exit 2
PreToolUse          permissionDecision permissionDecisionReason updatedInput additionalContext decision reason continue stopReason systemMessage suppressOutput terminalSequence async asyncTimeout exit 2
PermissionRequest   decision behavior updatedInput updatedPermissions message interrupt
PermissionDenied    retry
PostToolUse         additionalContext updatedToolOutput updatedMCPToolOutput classifierContext decision reason continue stopReason exit 2
PostToolUseFailure  additionalContext continue stopReason exit 2
PostToolBatch       additionalContext decision reason continue stopReason exit 2
CwdChanged          watchPaths exit 2
FileChanged         watchPaths exit 2
DirectoryAdded
TaskCreated         decision reason exit 2
TaskCompleted       continue stopReason exit 2
TeammateIdle        continue stopReason exit 2
WorktreeCreate      text worktreePath
WorktreeRemove
Elicitation         action content exit 2
ElicitationResult   action content exit 2
Notification
Stop                additionalContext decision reason continue stopReason exit 2
StopFailure
SubagentStart       additionalContext exit 2
SubagentStop        additionalContext decision reason exit 2
PreCompact          decision reason exit 2
PostCompact
SessionEnd          async
MessageDisplay      displayContent exit 2
`

// hookElsewhere are events that no conversation without a person has, with the tests that have them.
func hookElsewhere() map[string]string {
	return map[string]string{"ConfigChange": "../conversation/watch_test.go"}
}

// Every event and every field of its output is in a conversation, and every field that a conversation uses is in the
// table above.
func TestEachEventAndOutputOfHooksHasAConversation(t *testing.T) {
	used := hooksOfConversations(t)
	want := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(hookOutputs)) {
		event, fields, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[event] = append(strings.Fields(strings.ReplaceAll(fields, "exit 2", "exit_2")), "")
	}
	for event, file := range hookElsewhere() {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), event) {
			t.Errorf("%s has no test of %s: %v", file, event, err)
		}
	}
	for _, event := range hook.Names() {
		if _, ok := hookElsewhere()[event]; !ok && want[event] == nil {
			t.Errorf("the event %s has no row", event)
		}
		for _, field := range want[event] {
			if used[event+" "+field] == "" {
				t.Errorf("no conversation has the output %q of a hook of %s", field, event)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(used)) {
		if event, field, _ := strings.Cut(key, " "); !slices.Contains(want[event], field) && hook.Fires(event) {
			t.Errorf("%s: the table has no output %q of %s", used[key], field, event)
		}
	}
}

// hooksOfConversations finds the outputs that commands of hooks in the conversations print: the file by event and
// field.
func hooksOfConversations(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/conversation/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	used := map[string]string{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			for event, commands := range hookCommands(f.Data) {
				for _, field := range outputsOf(event, commands) {
					used[event+" "+field] = file
				}
			}
		}
	}
	return used
}

// hookCommands are the commands of the hooks in a file of settings, or of a skill or an agent, by event.
func hookCommands(data []byte) map[string][]string {
	var in struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	if json.Unmarshal(data, &in) != nil {
		raw, err := json.Marshal(map[string]any{"hooks": frontmatter.Parse(data).Fields["hooks"]})
		if err != nil || json.Unmarshal(raw, &in) != nil {
			return nil
		}
	}
	out := map[string][]string{}
	for event, groups := range in.Hooks {
		for _, g := range groups {
			for _, h := range g.Hooks {
				out[event] = append(out[event], h.Command)
			}
		}
	}
	return out
}

// outputsOf lists the outputs that commands print; "" for the event itself.
func outputsOf(event string, commands []string) []string {
	out := []string{""}
	for _, c := range commands {
		for _, field := range outputFields() {
			if field == "content" && !strings.HasPrefix(event, "Elicitation") {
				continue // of an input that is changed
			}
			if strings.Contains(c, fmt.Sprintf("%q:", field)) || strings.Contains(c, `\"`+field+`\":`) {
				out = append(out, field)
			}
		}
		if strings.Contains(c, "exit 2") && takesExit(event) {
			out = append(out, "exit_2")
		}
		for part := range strings.FieldsFuncSeq(c, func(r rune) bool { return strings.ContainsRune(";&|", r) }) {
			words := strings.TrimSpace(part)
			if plainOutput(event) && strings.HasPrefix(words, "echo ") && !strings.Contains(words, "{") && !strings.Contains(
				words, ">") {
				out = append(out, "text")
			}
		}
	}
	return out
}

func outputFields() []string {
	return strings.Fields(
		`additionalContext sessionTitle initialUserMessage watchPaths reloadSkills systemMessage suppressOriginalPrompt decision reason continue stopReason
		permissionDecision permissionDecisionReason updatedInput suppressOutput terminalSequence behavior updatedPermissions message interrupt retry updatedToolOutput
		updatedMCPToolOutput classifierContext worktreePath action content displayContent async asyncTimeout`)
}

// takesExit reports an event for which exit code 2 means something.
func takesExit(event string) bool { return event != "WorktreeCreate" && event != "PermissionRequest" }

// plainOutput reports an event for which plain output means something.
func plainOutput(event string) bool {
	return slices.Contains([]string{"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "WorktreeCreate"}, event)
}
