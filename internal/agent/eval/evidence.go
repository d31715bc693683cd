package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Bounds of the evidence, in bytes and in number.
const (
	mostRequest  = 8_000
	mostMessages = 20
	mostText     = 2_000
	mostInput    = 600
	mostResult   = 800
	mostDiff     = 30_000
	mostOutput   = 4_000
)

// authored is the text that a person wrote in a message.
func authored(m llm.Message) string {
	var out []string
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginAuthor {
			out = append(out, t.Text)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// evidence is the text that all judges of a round get.
func (g *Gate) evidence(check *event.EvalCheck) string {
	messages := g.Journal.Messages()
	var b strings.Builder
	if first := firstRequest(messages); first != "" && first != g.request {
		section(&b, "conversation_began_with", cut(first, mostRequest))
	}
	section(&b, "request", cut(g.request, mostRequest))
	section(&b, "work", work(messages))
	if diff := g.Diff(mostDiff); diff != "" {
		section(&b, "diff", cut(diff, mostDiff))
	}
	if check != nil {
		section(&b, "check", checked(check))
	}
	return strings.TrimSpace(b.String())
}

// section adds evidence in a tag that the text itself cannot close.
func section(b *strings.Builder, tag, text string) {
	fmt.Fprintf(b, "<%s>\n%s\n</%s>\n\n", tag, strings.ReplaceAll(text, "</"+tag, "< /"+tag), tag)
}

func checked(c *event.EvalCheck) string {
	switch {
	case c.NotRun != "":
		return "$ " + c.Command + "\nIt did not run: " + c.NotRun
	case c.Failed:
		return "$ " + c.Command + "\nIt failed:\n" + c.Output
	}
	return "$ " + c.Command + "\nIt passed.\n" + c.Output
}

func firstRequest(messages []llm.Message) string {
	for _, m := range messages {
		if text := authored(m); m.Role == llm.User && text != "" {
			return text
		}
	}
	return ""
}

// work sums up the last messages: texts, calls and results, each cut.
func work(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages[max(0, len(messages)-mostMessages):] {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				if m.Role == llm.Assistant {
					fmt.Fprintf(&b, "Agent: %s\n", cut(p.Text, mostText))
				} else if p.Origin == llm.OriginAuthor {
					fmt.Fprintf(&b, "User: %s\n", cut(p.Text, mostText))
				}
			case llm.ToolCall:
				fmt.Fprintf(&b, "Call of %s: %s\n", p.Name, cut(string(p.Input), mostInput))
			case llm.ToolResult:
				state := "Result"
				if p.IsError {
					state = "Error"
				}
				fmt.Fprintf(&b, "%s: %s\n", state, cut(llm.Message{Parts: p.Parts}.PlainText(), mostResult))
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// earlier tells a judge its own verdicts of the rounds before.
func (g *Gate) earlier(j Judge) string {
	var b strings.Builder
	for _, round := range g.before {
		for _, v := range round.Verdicts {
			if v.Judge == j.Name && v.Absent == "" {
				fmt.Fprintf(&b, "\nYour verdict of round %d: isComplete %t. %s %s", round.Round, v.Complete, v.Reasoning,
					strings.Join(v.Suggestions, "; "))
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n\nThe agent has worked on since. Judge the work as it is now." + b.String()
}

// RunCheck runs the check command of the settings as a call of Bash by an agent, with the call's id; nil if there is no
// command.
func RunCheck(ctx context.Context, set Settings, id string,
	invoke func(context.Context, []llm.ToolCall) []llm.ToolResult,
) *event.EvalCheck {
	if set.Command == "" {
		return nil
	}
	input, err := json.Marshal(map[string]any{
		"command": set.Command, "description": "Check the work",
		"timeout": set.Timeout.Milliseconds(),
	})
	if err != nil {
		return &event.EvalCheck{Command: set.Command, NotRun: err.Error()}
	}
	results := invoke(ctx, []llm.ToolCall{{ID: id, Name: "Bash", Input: input}})
	if task := leftRunning(results); task != "" {
		input, _ := json.Marshal(map[string]any{"task_id": task}) // a map of texts always encodes
		invoke(ctx, []llm.ToolCall{{ID: id + "-stop", Name: "TaskStop", Input: input}})
	}
	return outcome(set.Command, results)
}

// late begins the result of a command that Bash lets go on in the background.
const late = "The command did not end within "

// leftRunning is the background task of a command that outlived its limit, or empty.
func leftRunning(results []llm.ToolResult) string {
	for _, r := range results {
		text := llm.Message{Parts: r.Parts}.PlainText()
		if _, rest, ok := strings.Cut(text, " in the background with ID: "); ok && strings.HasPrefix(text, late) {
			task, _, _ := strings.Cut(rest, ";")
			return task
		}
	}
	return ""
}

// outcome reads the result of the check command. A call that was refused or could not start is no failure of the work.
func outcome(command string, results []llm.ToolResult) *event.EvalCheck {
	c := &event.EvalCheck{Command: command, NotRun: "there is no result"}
	for _, r := range results {
		text := llm.Message{Parts: r.Parts}.PlainText()
		c.NotRun = ""
		ran := strings.HasPrefix(text, "Exit code ") || strings.HasPrefix(text, "Command timed out") ||
			strings.HasPrefix(text, "Command was ended")
		if r.IsError && !ran {
			c.NotRun = cut(text, mostResult)
			continue
		}
		// Bash takes exit code 1 of a search for an answer, with this note.
		c.Failed, c.Output = r.IsError || strings.HasPrefix(text, late) || strings.Contains(text, "(Exit code "),
			tail(text, mostOutput)
	}
	return c
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "\n[... cut]"
}

// tail keeps the end, where a failing command says why.
func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "[cut ...]\n" + strings.ToValidUTF8(s[len(s)-most:], "")
}
