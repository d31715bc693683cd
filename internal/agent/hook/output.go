package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostText is the longest text that a handler can give to the model or the user, in bytes.
const mostText = 10_000

// Output is the JSON that a handler prints.
type Output struct {
	Continue       *bool    `json:"continue"` // false ends the turn
	StopReason     string   `json:"stopReason"`
	SuppressOutput bool     `json:"suppressOutput"`
	SystemMessage  string   `json:"systemMessage"` // for the user
	Decision       string   `json:"decision"`      // block; approve and deny in old hooks
	Reason         string   `json:"reason"`
	Terminal       string   `json:"terminalSequence"` // a notification or a title for the terminal
	Specific       Specific `json:"hookSpecificOutput"`
}

// Specific is the part of an output that belongs to one event.
type Specific struct {
	Event string `json:"hookEventName"`

	PermissionDecision string          `json:"permissionDecision"` // allow, deny, ask or defer
	PermissionReason   string          `json:"permissionDecisionReason"`
	UpdatedInput       json.RawMessage `json:"updatedInput"`
	AdditionalContext  string          `json:"additionalContext"`
	Decision           *answer         `json:"decision"` // of PermissionRequest
	UpdatedOutput      json.RawMessage `json:"updatedToolOutput"`
	UpdatedMCPOutput   json.RawMessage `json:"updatedMCPToolOutput"`
	SessionTitle       string          `json:"sessionTitle"`
	SuppressPrompt     bool            `json:"suppressOriginalPrompt"` // of UserPromptSubmit, with a refusal
	Retry              bool            `json:"retry"`
	Action             string          `json:"action"` // of an elicitation: accept, decline or cancel
	Content            json.RawMessage `json:"content"`
	WatchPaths         []string        `json:"watchPaths"`         // absolute; of SessionStart, CwdChanged and FileChanged
	WorktreePath       string          `json:"worktreePath"`       // of WorktreeCreate
	FirstMessage       string          `json:"initialUserMessage"` // of SessionStart
	ClassifierContext  string          `json:"classifierContext"`  // of PostToolUse
	DisplayContent     *string         `json:"displayContent"`     // of MessageDisplay; empty: nothing is shown
}

// answer is a decision on a question for permission.
type answer struct {
	Behavior  string          `json:"behavior"` // allow or deny
	Message   string          `json:"message"`
	Interrupt bool            `json:"interrupt"`
	Input     json.RawMessage `json:"updatedInput"`
	Updates   []Update        `json:"updatedPermissions"`
}

// parse reads the standard output of a handler: JSON if it begins with a brace, else plain text. With an error there is
// neither, so that nothing of an output that is wrong decides. Texts that are too long are kept in the session.
func (h *Hooks) parse(ctx context.Context, name string, stdout []byte) (out Output, text string, err error) {
	trimmed := bytes.TrimSpace(stdout)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return out, h.kept(ctx, string(trimmed)), nil
	}
	if err := json.Unmarshal(trimmed, &out); err != nil {
		return Output{}, "", fmt.Errorf("its output is no JSON in the form of a hook's: %w", err)
	}
	if err := out.check(name); err != nil {
		return Output{}, "", err
	}
	for _, text := range out.texts() {
		*text = h.kept(ctx, *text)
	}
	return out, "", nil
}

// texts are those for the model or the user.
func (o *Output) texts() []*string {
	return []*string{
		&o.StopReason, &o.SystemMessage, &o.Reason, &o.Specific.PermissionReason, &o.Specific.AdditionalContext,
		&o.Specific.FirstMessage, &o.Specific.ClassifierContext,
	}
}

// check refuses values that a handler of the event cannot mean.
func (o *Output) check(name string) error {
	if e := o.Specific.Event; e != "" && e != name {
		return fmt.Errorf("its output is for the event %s", e)
	}
	switch o.Decision {
	case "", "block", "approve", "allow", "deny":
	default:
		return fmt.Errorf("the decision %q is none of block and approve", o.Decision)
	}
	switch o.Specific.PermissionDecision {
	case "", "allow", "deny", "ask", "defer":
	default:
		return fmt.Errorf("the permissionDecision %q is none of allow, deny, ask and defer", o.Specific.PermissionDecision)
	}
	if a := o.Specific.Decision; a != nil && a.Behavior != "allow" && a.Behavior != "deny" {
		return fmt.Errorf("the behavior %q is none of allow and deny", a.Behavior)
	}
	switch o.Specific.Action {
	case "", "accept", "decline", "cancel":
	default:
		return fmt.Errorf("the action %q is none of accept, decline and cancel", o.Specific.Action)
	}
	return nil
}

// bounded cuts a text that is too long.
func bounded(text string) string {
	return shortened(text, func(string) string { return "the rest is dropped" })
}

// kept cuts a text that is too long, and keeps all of it in a file of the session, which the model can read.
func (h *Hooks) kept(ctx context.Context, text string) string {
	return shortened(text, func(all string) string {
		if h.s.Log() == nil {
			return "the rest is dropped, for this session keeps nothing"
		}
		path, err := h.s.Log().Blob(ctx, "hook.txt", []byte(all))
		if err != nil {
			return "the rest could not be kept: " + err.Error()
		}
		return "all of it is in " + path
	})
}

// shortened cuts a text that is longer than mostText, and ends it with a line that has what rest says of the remainder.
func shortened(text string, rest func(all string) string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= mostText {
		return text
	}
	end := mostText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + fmt.Sprintf("\n[cut: these are %d of %d bytes of the hook's text; %s]", end, len(text), rest(text))
}

// mostTerminal is the longest terminal sequence of a handler, in bytes.
const mostTerminal = 1000

// terminalSequences takes the sequences out of a text that only notify or name the window: OSC 0, 1, 2, 9, 99 and 777,
// and the bell. Anything else is dropped: it could write to the clipboard or forge text.
func terminalSequences(text string) string {
	var b strings.Builder
	for rest := text; rest != "" && b.Len() < mostTerminal; {
		if rest[0] == '\a' {
			b.WriteByte('\a')
			rest = rest[1:]
			continue
		}
		seq, after, ok := operatingSystemCommand(rest)
		if !ok {
			rest = rest[1:]
			continue
		}
		number, body, _ := strings.Cut(seq, ";")
		switch number {
		case "0", "1", "2", "9", "99", "777":
			if utf8.ValidString(body) && strings.IndexFunc(body, unicode.IsControl) < 0 && b.Len()+len(seq) < mostTerminal {
				b.WriteString("\x1b]" + seq + "\a")
			}
		}
		rest = after
	}
	return b.String()
}

// operatingSystemCommand splits the OSC sequence that a text begins with (ECMA-48) from the text.
func operatingSystemCommand(text string) (body, after string, ok bool) {
	text, ok = strings.CutPrefix(text, "\x1b]")
	if !ok {
		return "", "", false
	}
	end := strings.IndexAny(text, "\a\x1b")
	if end < 0 {
		return "", "", false
	}
	if text[end] == '\x1b' && !strings.HasPrefix(text[end:], "\x1b\\") {
		return "", "", false
	}
	body, after = text[:end], strings.TrimPrefix(strings.TrimPrefix(text[end:], "\x1b\\"), "\a")
	return body, after, true
}
