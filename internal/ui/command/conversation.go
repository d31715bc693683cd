package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/compact"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

func conversationCommands() []Command {
	return []Command{
		{
			Name: "new", Aliases: []string{"clear", "reset"}, Group: groupConversation, Alone: true,
			Help: "Start a new conversation; this one is kept",
			Doc:  "The caches of files go with the old conversation. `/resume` brings it back.",
			Run: func(ctx context.Context, h *Host, _ string) (event.Output, error) {
				return event.Output{}, h.New(ctx)
			},
		},
		{
			Name: "compact", Group: groupConversation, Alone: true, Args: "[--force] [what to keep]",
			Help: "Replace older messages by a summary, to make room",
			Doc: "The newest messages, the instructions from files, the task list and your messages stay word for word. " +
				"Nothing is deleted: " +
				"`/tree` leads back to before it, and `/export` shows the whole conversation. With `--force` it also does " +
				"so where little is gained.",
			Run: compactNow,
		},
		{
			Name: "retry", Group: groupConversation, Alone: true,
			Help: "Go on with a turn whose request failed, or send the last prompt again",
			Doc: "A turn that had done some work before a request failed, or before Esc ended the wait for one, goes on " +
				"where it stopped. Otherwise the last prompt is sent again, as a new branch: the first try stays in the " +
				"session, and `/tree` leads back to it. Files are not changed back.", Run: retry,
		},
		{
			Name: "rewind", Aliases: []string{"checkpoint"}, Group: groupConversation, Alone: true, Args: "[message]",
			Help: "Go back to before an earlier message: the conversation, the files, or both",
			Doc: "The conversation goes on from there as another branch; nothing is deleted, and `/tree` leads back. Where " +
				"steps changed files since, a list offers " +
				"both, only the conversation, or only the files, with the difference; `/redo` brings the files back.",
			Run: rewind,
		},
		{
			Name: "tree", Group: groupConversation, Alone: true, Args: "[message|files]",
			Help: "Show all branches of the conversation and go on from any message",
			Doc: "Each message names the files that its turn changed. Where the files of the other branch differ, a list " +
				"offers both, only the conversation, or only the " +
				"files, with the difference; `/redo` takes the files back. `/tree files` brings the files of the branch in " +
				"front, after the conversation alone went back.",
			Run: tree,
		},
		{Name: "history", Group: groupConversation, Help: "Show the conversation, short", Args: "[count]", Run: history},
		{
			Name: "copy", Group: groupConversation, Args: "[n]", Help: "Copy the last reply, or the n-th from the end",
			Run: copyReply,
		},
		{
			Name: "export", Group: groupConversation, Args: "[md|html|json] [file]", Help: "Write the conversation to a file",
			Doc: "Without a file, one is made in the working folder. `json` is every entry of the log, one object per line. " +
				"A file that exists is not overwritten.",
			Complete: oneOf("md", "html", "json"),
			Run:      export,
		},
	}
}

func words(all ...string) []event.Candidate {
	out := make([]event.Candidate, len(all))
	for i, w := range all {
		out[i] = event.Candidate{Text: w}
	}
	return out
}

// oneOf completes one of some fixed words.
func oneOf(all ...string) func(context.Context, *Host, string) []event.Candidate {
	return func(_ context.Context, _ *Host, typed string) []event.Candidate { return choices(typed, words(all...)) }
}

var errNothing = errors.New("there is nothing in this conversation yet")

// userMessage is one message of the user in the tree of a session.
type userMessage struct {
	id, parent string // the entry and the one before it
	end        string // the last entry of the turn it opened
	body       session.User
	time       time.Time
	above      int // index of the message before it on its branch, or -1
}

func (s userMessage) text() string { return session.StripContext(s.body.Message).PlainText() }

// userMessages lists the user's messages of all branches, in the order they were sent.
func userMessages(log *session.Session) []userMessage {
	var out []userMessage
	owner := map[string]int{"": -1} // entry -> the message of the user it follows
	for e := range log.All() {
		at, known := owner[e.Parent]
		if !known {
			at = -1
		}
		switch b := e.Body.(type) {
		case session.Head:
			continue
		case session.User:
			if !b.Synthetic {
				out = append(out, userMessage{id: e.ID, parent: e.Parent, end: e.ID, body: b, time: e.Time, above: at})
				at = len(out) - 1
			}
		}
		owner[e.ID] = at
		if at >= 0 {
			out[at].end = e.ID
		}
	}
	return out
}

// onBranch lists the messages on the branch of the head, as indices into all, oldest first.
func onBranch(log *session.Session, all []userMessage) []int {
	at := map[string]int{}
	for i, s := range all {
		at[s.id] = i
	}
	var out []int
	for e := range log.Entries() {
		if i, ok := at[e.ID]; ok {
			out = append(out, i)
		}
	}
	return out
}

// worthCompacting is how many tokens of conversation make a summary worth its price.
const worthCompacting = 2000

func compactNow(ctx context.Context, h *Host, args string) (event.Output, error) {
	keep, forced := strings.CutPrefix(args, "--force")
	if args == "" {
		tokens := 0
		for _, m := range h.Session().Messages() {
			tokens += llm.EstimateTokens(m)
		}
		if tokens > 0 && tokens < worthCompacting {
			return text("Little is gained: the conversation has about %s tokens. `/compact --force` compacts it anyway.",
				grouped(tokens)), nil
		}
	}
	if !forced {
		keep = args
	}
	_, err := h.Session().Compact(ctx, strings.TrimSpace(keep))
	if errors.Is(err, compact.ErrNothing) {
		return text("There is nothing to compact yet."), nil
	}
	return event.Output{}, err
}

func rewind(ctx context.Context, h *Host, args string) (event.Output, error) {
	log := h.Session().Log()
	all := userMessages(log)
	if args == "" {
		return pickPrompt(h, log, all)
	}
	id, rest, _ := strings.Cut(args, " ")
	what, choice, _ := strings.Cut(rest, " ")
	for _, s := range all {
		if s.id == id {
			return rewindTo(ctx, h, s, what, choice)
		}
	}
	return event.Output{}, fmt.Errorf("there is no message %q in this conversation; /rewind lists them", id)
}

// rewindTo goes back to before a message: both, conversation or files; "" asks where files changed since.
func rewindTo(ctx context.Context, h *Host, s userMessage, what, choice string) (event.Output, error) {
	plan, err := rewindFiles(h, h.Session().Log(), s.id)
	if err != nil && what != "conversation" {
		return event.Output{}, err
	}
	if what == "" && plan != nil {
		return event.Output{Pick: rewindPick(h, s, plan)}, nil
	}
	if what != "" && what != "both" && what != "conversation" && what != "files" {
		return event.Output{}, fmt.Errorf("/rewind takes both, conversation or files after the message, not %q", what)
	}
	var out event.Output
	if plan != nil && what != "conversation" {
		o, err := readUndo(choice)
		if err != nil {
			return out, err
		}
		if out, err = restore(h, plan, o, "rewind "+s.id+" "+what); err != nil || out.Pick != nil {
			return out, err
		}
	}
	if what == "files" {
		return out, nil
	}
	if err := h.Checkout(ctx, s.parent); err != nil {
		return out, err
	}
	out.Insert = s.text()
	return out, nil
}

// rewindPick asks what to take back.
func rewindPick(h *Host, s userMessage, plan *snapshot.Plan) *event.Pick {
	preview := running(h) + planned(plan)
	return &event.Pick{
		Title: "Go back to before: " + short(s.text(), 60), Command: "rewind " + s.id,
		Items: []event.PickItem{
			{ID: "both", Label: "Conversation and files", Detail: plural(len(plan.Files), "file"), Preview: preview},
			{ID: "conversation", Label: "Only the conversation", Detail: "files stay as they are"},
			{ID: "files", Label: "Only the files", Detail: "the conversation goes on", Preview: preview},
		},
	}
}

func pickPrompt(h *Host, log *session.Session, all []userMessage) (event.Output, error) {
	p := &event.Pick{Title: "Go back to before", Command: "rewind", Empty: "There is nothing to go back to yet."}
	branch := onBranch(log, all)
	changed := filesSince(h, log)
	for _, i := range slices.Backward(branch) {
		s := all[i]
		item := event.PickItem{ID: s.id, Label: short(s.text(), 120), Time: s.time, Preview: fenced("", s.text())}
		if n := changed[s.id]; n > 0 {
			item.Detail = plural(n, "file") + " changed since"
		}
		p.Items = append(p.Items, item)
	}
	return event.Output{Pick: p}, nil
}

// filesSince counts for each message of the user the files that steps changed since.
func filesSince(h *Host, log *session.Session) map[string]int {
	out := map[string]int{}
	history, err := h.history()
	if err != nil {
		return out
	}
	steps, err := history.Steps()
	if err != nil {
		return out
	}
	at := map[string][]snapshot.Snapshot{}
	for _, s := range steps {
		at[s.Message] = append(at[s.Message], s)
	}
	since := map[string]snapshot.Change{}
	b := log.Branch()
	for i := b.Len() - 1; i >= 0; i-- {
		for _, s := range slices.Backward(at[b.ID(i)]) {
			for _, c := range s.Changes() {
				if later, ok := since[c.Path]; ok {
					c.After = later.After
				}
				since[c.Path] = c
			}
		}
		if b.Kind(i) == "user" {
			for _, c := range since {
				if !c.Void() {
					out[b.ID(i)]++
				}
			}
		}
	}
	return out
}

func tree(ctx context.Context, h *Host, args string) (event.Output, error) {
	log := h.Session().Log()
	all := userMessages(log)
	if args != "" {
		id, rest, _ := strings.Cut(args, " ")
		if id == "files" {
			return bringFiles(h, rest)
		}
		what, choice, _ := strings.Cut(rest, " ")
		for _, s := range all {
			if s.id == id {
				return switchTo(ctx, h, s, what, choice)
			}
		}
		return event.Output{}, fmt.Errorf("there is no message %q in this session; /tree lists them", id)
	}
	p := &event.Pick{
		Title: "Go on after", Command: "tree", Empty: "There is nothing in this conversation yet.",
		Actions: []event.PickAction{{Key: "ctrl+e", Label: "edit it", Command: "rewind"}},
	}
	current := map[int]bool{}
	for _, i := range onBranch(log, all) {
		current[i] = true
	}
	p.Items = treeItems(all, current)
	turnChanges(h, p.Items)
	return event.Output{Pick: p}, nil
}

// treeItems lists messages depth first. Items are indented only where the conversation branches.
func treeItems(all []userMessage, current map[int]bool) []event.PickItem {
	below := map[int][]int{}
	for i, s := range all {
		below[s.above] = append(below[s.above], i)
	}
	var out []event.PickItem
	type place struct {
		at, depth int
		starts    bool // a branch beside others
	}
	var todo []place
	push := func(children []int, depth int) {
		if len(children) > 1 {
			depth++
		}
		for _, c := range slices.Backward(children) {
			todo = append(todo, place{c, depth, len(children) > 1})
		}
	}
	push(below[-1], 0)
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s := all[p.at]
		out = append(out, event.PickItem{
			ID: s.id, Label: short(s.text(), 120), Time: s.time, Depth: p.depth, Starts: p.starts,
			Preview: fenced("", s.text()), Current: current[p.at],
		})
		push(below[p.at], p.depth)
	}
	return out
}

func history(_ context.Context, h *Host, args string) (event.Output, error) {
	n, err := number(args, 20)
	if err != nil {
		return event.Output{}, err
	}
	var lines []string
	for _, m := range h.Session().Log().Messages() {
		m = session.StripContext(m)
		text := short(m.PlainText(), 200)
		switch {
		case m.Role == "user" && text != "":
			lines = append(lines, "- you: "+code(text))
		case m.Role == "assistant":
			for _, c := range m.Calls() {
				text = strings.TrimSpace(text + " [" + c.Name + "]")
			}
			if text != "" {
				lines = append(lines, "- lathe: "+code(text))
			}
		}
	}
	if len(lines) == 0 {
		return event.Output{}, errNothing
	}
	more := ""
	if n < len(lines) {
		more = fmt.Sprintf("%s before these; /history %d shows them.\n\n", plural(len(lines)-n, "message"), len(lines))
		lines = lines[len(lines)-n:]
	}
	return text("%s%s", more, strings.Join(lines, "\n")), nil
}

// number parses a count.
func number(s string, otherwise int) (int, error) {
	if s == "" {
		return otherwise, nil
	}
	n := 0
	if _, err := fmt.Sscanf(s, "%d", &n); err != nil || n <= 0 || fmt.Sprint(n) != s {
		return 0, fmt.Errorf("%q is not a number from 1 up", s)
	}
	return n, nil
}

func copyReply(_ context.Context, h *Host, args string) (event.Output, error) {
	n, err := number(args, 1)
	if err != nil {
		return event.Output{}, err
	}
	for _, m := range slices.Backward(h.Session().Log().Messages()) {
		if m.Role != "assistant" || strings.TrimSpace(m.PlainText()) == "" {
			continue
		}
		if n--; n == 0 {
			return event.Output{Copy: m.PlainText()}, nil
		}
	}
	return event.Output{}, errors.New("there is no such reply to copy")
}

// exportForms maps the names that people use to the export formats.
var exportForms = map[string]struct {
	form session.ExportFormat
	ext  string
}{
	"md": {session.Markdown, "md"}, "markdown": {session.Markdown, "md"}, "html": {session.HTML, "html"},
	"json": {session.JSONL, "jsonl"}, "jsonl": {session.JSONL, "jsonl"},
}

func export(_ context.Context, h *Host, args string) (event.Output, error) {
	name, file, _ := strings.Cut(args, " ")
	file = strings.TrimSpace(file)
	form, ok := exportForms[strings.ToLower(name)]
	if !ok && name != "" && file == "" { // a file without a format: its extension decides
		form, ok = exportForms[strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))]
		file = name
	}
	if name == "" {
		form, ok = exportForms["md"], true
	}
	if !ok {
		return event.Output{}, fmt.Errorf("cannot export as %q; the forms are md, html and json", name)
	}
	log := h.Session().Log()
	if len(log.Messages()) == 0 {
		return event.Output{}, errNothing
	}
	ours := file == ""
	if ours {
		file = "lathe-" + log.ID()[:13] + "." + form.ext
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(h.Status().Dir, file)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	base := strings.TrimSuffix(file, "."+form.ext)
	for n := 2; ours && errors.Is(err, os.ErrExist); n++ {
		file = fmt.Sprintf("%s-%d.%s", base, n, form.ext)
		f, err = os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if errors.Is(err, os.ErrExist) {
		return event.Output{}, fmt.Errorf("%s exists; give another name: /export %s NAME", file, form.ext)
	}
	if err != nil {
		return event.Output{}, fmt.Errorf("the file cannot be made: %w", err)
	}
	return done(errors.Join(session.Export(f, log, form.form), f.Close()), "Written to %s.", code(file))
}
