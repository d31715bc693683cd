package view

import (
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Header is the line of a call: the symbol of its state, the tool, the title, a summary of the view, and
// how long it took.
func Header(v event.View, o Options) string {
	t := o.theme()
	symbol := o.State.Symbol()
	if o.State == theme.Running && o.Spinner > 0 {
		symbol = theme.Spinner[(o.Spinner-1)%len(theme.Spinner)]
	}
	head := []line.Span{{Text: symbol + " ", Style: t.State(o.State)}}
	tool, title := term.EscapeLine(o.Tool), term.EscapeLine(o.Title)
	if tool != "" && tool != title {
		head = append(head, line.Span{Text: tool, Style: t.Strong}, line.Span{Text: " "})
	}
	if title == "" {
		head = head[:max(1, len(head)-1)]
	}
	notes := notes(v, o)
	room := o.Width - line.Width(head) - line.Width(notes)
	if room < min(12, term.Width(title)) && len(notes) > 0 {
		notes = notes[:1]
		room = o.Width - line.Width(head) - line.Width(notes)
	}
	style := t.Text
	if tool == "" {
		style = t.Strong
	}
	head = append(head, line.Span{Text: term.Truncate(title, max(room, 1), "…"), Style: style})
	return line.Join(max(o.Width, 1), append(head, notes...)...)
}

// notes are the texts behind the title, each with the blanks before it.
func notes(v event.View, o Options) []line.Span {
	t := o.theme()
	var out []line.Span
	add := func(text string, style theme.Style) {
		if text != "" {
			out = append(out, line.Span{Text: "  " + text, Style: style})
		}
	}
	switch o.State {
	case theme.Waiting, theme.Denied:
		add(o.State.String(), t.State(o.State))
	case theme.Failed:
		add(failure(v), t.Bad)
	}
	if o.State == theme.Done {
		out = append(out, summary(v, t)...)
	}
	c, isCommand := v.(event.Command)
	if o.Duration >= time.Second && o.State != theme.Waiting && !(isCommand && c.TimedOut) {
		add(Duration(o.Duration), t.Dim)
	}
	return out
}

// failure says in words that a call failed; a command says how, as its summary does.
func failure(v event.View) string {
	if c, ok := v.(event.Command); ok {
		if s := outcome(c); s != "" {
			return s
		}
	}
	return "failed"
}

// summary is a view in a few words.
func summary(v event.View, t *theme.Theme) []line.Span {
	dim := func(s string) []line.Span {
		if s == "" {
			return nil
		}
		return []line.Span{{Text: "  " + s, Style: t.Dim}}
	}
	switch v := v.(type) {
	case event.Diff:
		return changes(v, t)
	case event.Command:
		if s := outcome(v); s != "" {
			return []line.Span{{Text: "  " + s, Style: t.Bad}}
		}
		if v.Background != "" {
			return dim("in the background")
		}
	case event.Listing:
		if v.Truncated && v.Total <= len(v.Items) {
			return dim("more than " + strconv.Itoa(len(v.Items)) + " found")
		}
		return dim(strconv.Itoa(max(v.Total, len(v.Items))) + " found")
	case event.TextView:
		return dim(term.EscapeLine(v.Summary))
	case event.Image:
		return dim(term.EscapeLine(v.MIME) + ", " + size(len(v.Data)))
	case event.Subagent:
		if v.Steps > 0 {
			return dim(count(v.Steps, "step"))
		}
	}
	return nil
}

// changes are the numbers of lines that a diff adds and removes.
func changes(v event.Diff, t *theme.Theme) []line.Span {
	var out []line.Span
	if v.Created {
		out = append(out, line.Span{Text: "  new", Style: t.Dim})
	}
	if v.Added > 0 {
		out = append(out, line.Span{Text: "  +" + strconv.Itoa(v.Added), Style: t.Diff.AddedMark})
	}
	if v.Removed > 0 {
		out = append(out, line.Span{
			Text:  strings.Repeat(" ", 2-min(1, len(out))) + "−" + strconv.Itoa(v.Removed),
			Style: t.Diff.RemovedMark,
		})
	}
	return out
}

// outcome says how a command ended, "" if it ended well.
func outcome(v event.Command) string {
	switch {
	case v.TimedOut && v.Duration > 0:
		return "timed out after " + Duration(v.Duration)
	case v.TimedOut:
		return "timed out"
	case v.Cancelled:
		return "cancelled"
	case v.ExitCode != 0:
		return "exit code " + strconv.Itoa(v.ExitCode)
	}
	return ""
}
