package gateway

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"mime"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
)

// commandOf takes a command apart; false: the text is a prompt.
func commandOf(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name, args, _ = strings.Cut(rest, " ")
	name, _, _ = strings.Cut(name, "@")
	known := name == "start" || slices.ContainsFunc(Commands, func(c Command) bool { return c.Name == name })
	return name, strings.TrimSpace(args), known
}

// command does what a command says, and answers.
func (h *Host) command(ctx context.Context, u Update, name, args string) error {
	text, err := "", error(nil)
	switch name {
	case "start", "help":
		text = helpText()
	case "new":
		text, err = h.fresh(ctx, u, "", args)
	case "project":
		text, err = h.project(ctx, u, args)
	case "cancel":
		return h.cancel(ctx, u)
	case "status":
		text, err = h.status(ctx, u)
	case "todo":
		text, err = h.todo(ctx, u)
	case "bg":
		return h.aside(ctx, u, args)
	case "log":
		text, err = h.log(ctx, u)
	case "file":
		return h.sendFile(ctx, u, args)
	case "loop", "diff":
		return h.slash(ctx, u, name, args)
	}
	if err == nil && text != "" {
		h.post(ctx, "command:"+u.Key, Message{Place: u.Place, Text: text, Reply: u.Message})
	}
	return err
}

func helpText() string {
	var b strings.Builder
	b.WriteString("Send a message, and lathe works on it in a session of this chat.\n\n")
	for _, c := range Commands {
		fmt.Fprintf(&b, "- /%s: %s\n", c.Name, c.Help)
	}
	return b.String()
}

// fresh begins another session, in a topic of its own where it has a name and the chat has topics.
func (h *Host) fresh(ctx context.Context, u Update, project, name string) (string, error) {
	p := u.Place
	if topics, ok := h.t.(Topics); ok && name != "" && p.Thread == "" {
		if thread, err := topics.Topic(ctx, p, short(name, 100)); err == nil {
			p.Thread = thread
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chatOf(p)
	before := h.j.Talks[c.Session]
	c.Session, c.Project = "", cmp.Or(project, c.Project)
	r := record{Chat: &c}
	if before != nil && !h.owes(before) && !h.running["talk:"+before.ID] {
		r.Drop = before.ID
	}
	if err := h.add(r); err != nil {
		return "", err
	}
	text := "The next message begins a new session in `" + filepath.Base(h.folder(c)) + "`."
	if p != u.Place {
		_ = h.put(ctx, out{ID: "topic:" + u.Key, Message: Message{Place: p, Text: text}})
		return "", nil
	}
	return text, nil
}

// project lists the folders, or goes to one.
func (h *Host) project(ctx context.Context, u Update, name string) (string, error) {
	if _, ok := h.o.More[name]; ok {
		return h.fresh(ctx, u, name, name)
	}
	var b strings.Builder
	if name != "" {
		b.WriteString("There is no project of this name.\n\n")
	}
	for _, n := range slices.Sorted(maps.Keys(h.o.More)) {
		b.WriteString("- /project " + escape(n) + "\n")
	}
	if len(h.o.More) == 0 {
		b.WriteString("The settings name no other folders: gateway.projects.")
	}
	return b.String(), nil
}

// session is the session of a place, if there is one.
func (h *Host) session(p Place) (talk, supervisor.Job, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.j.Talks[h.chatOf(p).Session]
	if t == nil || t.Job == "" {
		return talk{}, supervisor.Job{}, false
	}
	j, err := h.o.Place.Read(t.Job)
	return *t, j, err == nil
}

const noSession = "This chat has no session yet. A message begins one."

func (h *Host) status(ctx context.Context, u Update) (string, error) {
	t, j, ok := h.session(u.Place)
	if !ok {
		return noSession, nil
	}
	h.mu.Lock()
	c := h.chatOf(u.Place)
	h.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** in `%s`, mode %s\n\n", j.State, filepath.Base(t.CWD), cmp.Or(j.Mode, "unknown"))
	if j.Activity != "" && j.State != supervisor.Done {
		b.WriteString(escape(j.Activity) + "\n\n")
	}
	if c.Day == today() {
		fmt.Fprintf(&b, "$%.2f today. ", c.Spent)
	}
	fmt.Fprintf(&b, "At the machine: `lathe attach %s`", j.ID)
	if !j.Live() {
		return b.String(), nil
	}
	err := h.with(ctx, t.ID, u.From.ID, func(cl *port.Client) error {
		now, err := cl.Read(ctx, port.ReadRequest{What: "status"})
		if err == nil && now.Status != nil && now.Status.ContextWindow > 0 {
			fmt.Fprintf(&b, "\n\n%s, %d %% of the window used, %d messages wait", escape(now.Status.Model),
				100*now.Status.ContextUsed/now.Status.ContextWindow, len(now.Status.Waiting))
		}
		return err
	})
	return b.String(), err
}

func (h *Host) todo(ctx context.Context, u Update) (text string, err error) {
	t, _, ok := h.session(u.Place)
	if !ok {
		return noSession, nil
	}
	err = h.with(ctx, t.ID, u.From.ID, func(c *port.Client) error {
		now, err := c.Read(ctx, port.ReadRequest{What: "status"})
		if text = "The task list is empty."; err == nil && now.Status != nil && len(now.Status.Todos) > 0 {
			text = taskList(now.Status.Todos)
		}
		return err
	})
	return text, err
}

// aside works on a prompt in a session of its own.
func (h *Host) aside(ctx context.Context, u Update, prompt string) error {
	if prompt == "" {
		return &Refusal{"say what to do: /bg fix the failing test"}
	}
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(h.t.Name()+u.Key)).String()
	h.mu.Lock()
	t := h.j.Talks[id]
	if t == nil {
		c := h.chatOf(u.Place)
		t = &talk{ID: id, Chat: u.Place.Key(), CWD: h.folder(c), Aside: true, At: time.Now()}
		if err := h.add(record{Chat: &c, Talk: t}); err != nil {
			h.mu.Unlock()
			return err
		}
	}
	h.mu.Unlock()
	return h.prompt(ctx, u, *t, prompt)
}

// mostLog is how many events of the history /log reads.
const mostLog = 40

func (h *Host) log(ctx context.Context, u Update) (text string, err error) {
	t, _, ok := h.session(u.Place)
	if !ok {
		return noSession, nil
	}
	err = h.with(ctx, t.ID, u.From.ID, func(c *port.Client) error {
		events, err := c.Attach(ctx, port.From{History: mostLog})
		if err != nil {
			return err
		}
		defer events.Close()
		first, err := events.Next(ctx)
		if opened, ok := first.Body.(event.Opened); ok {
			text = cmp.Or(history(opened.History), "Nothing was said yet.")
		}
		return err
	})
	return text, err
}

// history is a conversation in Markdown.
func history(bodies []event.Body) string {
	var b strings.Builder
	for _, body := range bodies {
		switch e := body.(type) {
		case event.UserMessage:
			if !e.Synthetic {
				b.WriteString("**" + escape(short(e.Message.PlainText(), 300)) + "**\n\n")
			}
		case event.ToolEnd:
			b.WriteString("▸ " + escape(short(e.Title, 150)) + "  \n")
		case event.PartDone:
			b.WriteString(partText(e) + "\n\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// sendFile sends a file of the session's folder. Approvers only: it is what Read would ask for.
func (h *Host) sendFile(ctx context.Context, u Update, path string) error {
	t, _, ok := h.session(u.Place)
	switch {
	case !h.approver(u.Place, u.From.ID):
		return &Refusal{"only approvers may take files"}
	case !ok || path == "":
		return &Refusal{"say which file: /file docs/plan.md"}
	}
	return h.with(ctx, t.ID, u.From.ID, func(c *port.Client) error {
		got, err := c.Read(ctx, port.ReadRequest{What: "file", Name: path, Limit: port.MaxMessage / 2})
		if err != nil {
			return &Refusal{err.Error()}
		}
		h.post(ctx, "file:"+u.Key, Message{Place: u.Place, Reply: u.Message, File: &Document{
			Name: filepath.Base(path), MIME: mime.TypeByExtension(filepath.Ext(path)), Data: got.Bytes,
		}})
		return nil
	})
}

// slash runs a command of the session.
func (h *Host) slash(ctx context.Context, u Update, name, args string) error {
	t, err := h.talkOf(u)
	if err != nil {
		return err
	}
	var got event.Output
	err = h.with(ctx, t.ID, u.From.ID, func(c *port.Client) (err error) {
		got, err = c.Command(ctx, port.Command{Name: name, Args: args})
		return err
	})
	if err != nil {
		return err
	}
	h.post(ctx, "command:"+u.Key, shown(got, u))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attend(ctx, t.ID) // it may have begun a turn
	return nil
}

// shown is the output of a command as a message. A long diff is a file.
func shown(o event.Output, u Update) Message {
	m := Message{Place: u.Place, Reply: u.Message, Text: o.Text}
	if o.Page != nil {
		m.Text = o.Page.Text
	}
	switch d, ok := o.View.(event.Diff); {
	case ok && len(d.Unified) > mostPreview:
		m.Text = fmt.Sprintf("+%d −%d lines", d.Added, d.Removed)
		m.File = &Document{Name: "changes.diff", MIME: "text/plain", Data: []byte(d.Unified)}
	case ok && d.Unified != "":
		m.Text = fenced(d.Unified, "diff")
	case m.Text == "":
		m.Text = "Nothing to show."
	}
	return m
}
