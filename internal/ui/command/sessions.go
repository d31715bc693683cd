package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// maxListed limits the sessions that a list shows.
const maxListed = 500

func sessionCommands() []Command {
	return []Command{
		{
			Name: "resume", Aliases: []string{"continue"}, Group: groupSessions, Alone: true, Args: "[id or title]",
			Help: "Go on with an earlier session", Complete: completeSession,
			Doc: "The beginning of an id is enough. Without one, the sessions of this folder are listed; `/resume all` lists " +
				"those of every folder.",
			Run: resume,
		},
		{
			Name: "sessions", Group: groupSessions, Alone: true, Args: "[all] [find text]",
			Help: "List the sessions: open, rename or delete one",
			Doc: "Those of this folder, newest first; with `all` those of every folder. `find` searches titles and first " +
				"prompts, or takes the beginning of an id. A deleted session goes to the trash and can be brought " +
				"back for 30 days.",
			Run: func(_ context.Context, h *Host, args string) (event.Output, error) {
				args, all := strings.CutPrefix(args, "all")
				typed, find := strings.CutPrefix(strings.TrimSpace(args), "find")
				if !find && strings.TrimSpace(args) != "" {
					return event.Output{}, fmt.Errorf("/sessions takes nothing, all, or find TEXT; not %q", args)
				}
				return pickSession(h, all, strings.TrimSpace(typed))
			},
		},
		{
			Name: "rename", Group: groupSessions, Args: "<title>", Help: "Name this session", Run: rename,
		},
		{
			Name: "fork", Aliases: []string{"branch"}, Group: groupSessions, Alone: true, Args: "[title]",
			Help: "Go on in a copy of this session",
			Doc:  "The original stays as it is; `/resume` leads back to it.", Run: fork,
		},
		{
			Name: "save", Group: groupSessions, Help: "Make sure the session is on the disk, and say where",
			Doc: "Sessions are written as they happen; this also waits until the disk has everything.", Run: save,
		},
		{
			Name: "delete-session", Group: groupSessions, Args: "<id>", Help: "Delete a session; it can be brought back",
			Doc: "It goes to the trash, from where `/restore-session` brings it back for 30 days.", Complete: completeSession,
			Run: deleteSession,
		},
		{
			Name: "restore-session", Group: groupSessions, Args: "<id>", Help: "Bring a deleted session back",
			Run: restoreSession,
		},
		{
			Name: "find-sessions", Group: groupSessions, Hidden: true, Args: "<here|all> <text>",
			Help: "List the sessions that fit a text",
			Run: func(_ context.Context, h *Host, args string) (event.Output, error) {
				where, typed, _ := strings.Cut(args, " ")
				return pickSession(h, where == "all", strings.TrimSpace(typed))
			},
		},
		{
			Name: "rename-session", Group: groupSessions, Hidden: true, Args: "<id> <title>", Help: "Name another session",
			Run: renameSession,
		},
	}
}

func resume(ctx context.Context, h *Host, args string) (event.Output, error) {
	if args == "" || args == "all" {
		return pickSession(h, args == "all", "")
	}
	info, err := h.Instance.Store().Find(h.Instance.Dir(), args)
	if err != nil {
		return event.Output{}, err
	}
	if info.ID == h.Session().Log().ID() {
		return text("This session is open already."), nil
	}
	return event.Output{}, h.Open(ctx, info.ID)
}

// pickSession lists sessions: the newest, or those that match the typed text, best first.
func pickSession(h *Host, all bool, typed string) (event.Output, error) {
	p := &event.Pick{
		Title: "Sessions of this folder", Command: "resume",
		Empty: "There is no other session of this folder yet; /resume all lists those of every folder.",
		Actions: []event.PickAction{
			{Key: "ctrl+r", Label: "rename", Command: "rename-session", Ask: "New title", Refresh: "sessions"},
			{Key: "ctrl+d", Label: "delete", Command: "delete-session", Undo: "restore-session", Refresh: "sessions"},
		},
	}
	dir := h.Instance.Dir()
	p.Search = "find-sessions here"
	if all {
		p.Title, p.Empty, dir, p.Search = "All sessions", "There is no session yet.", "", "find-sessions all"
		for i := range p.Actions {
			p.Actions[i].Refresh = "sessions all"
		}
	}
	current := h.Session().Log().ID()
	found := findSessions(h, dir, typed, maxListed)
	if typed == "" && len(found) == maxListed {
		p.Title += fmt.Sprintf(", the newest %d; typing searches all", maxListed)
	}
	below, _ := h.Instance.Store().CostsBelow() // lathe session verify reports those that cannot be read
	for _, info := range found {
		info.CostUSD += below(info.ID)
		p.Items = append(p.Items, sessionItem(info, current))
	}
	return event.Output{Pick: p}, nil
}

// findSessions lists the newest sessions of a folder ("": all folders). With typed text, it searches all of
// them for a matching title or first prompt, best first; an id matches by its prefix only.
func findSessions(h *Host, dir, typed string, limit int) []session.Info {
	var all []session.Info
	var texts []string
	for info, err := range h.Instance.Store().List(dir) {
		if err != nil || info.FirstPrompt == "" {
			continue // an unreadable session cannot be resumed; lathe session verify has the details
		}
		all, texts = append(all, info), append(texts, strings.TrimSpace(info.Title+" "+info.FirstPrompt))
		if typed == "" && len(all) == limit {
			break
		}
	}
	if typed == "" {
		return all
	}
	var out []session.Info
	seen := map[string]bool{}
	add := func(info session.Info) {
		if !seen[info.ID] && len(out) < limit {
			seen[info.ID] = true
			out = append(out, info)
		}
	}
	for _, info := range all {
		if len(typed) >= shortestID && strings.HasPrefix(info.ID, strings.ToLower(typed)) {
			add(info)
		}
	}
	words := strings.ToLower(typed)
	contains := func(i int) int { // whole words rank above scattered letters
		if strings.Contains(strings.ToLower(texts[i]), words) {
			return wholeWords
		}
		return 0
	}
	for _, f := range fuzzy.Rank(typed, texts, 0, contains) {
		add(all[f.Index])
	}
	return out
}

const (
	shortestID = 4   // characters of an id that are searched for
	wholeWords = 200 // bonus for a match of the whole typed text
)

func sessionItem(info session.Info, current string) event.PickItem {
	var detail []string
	if info.Title != "" && info.Title != info.FirstPrompt {
		detail = append(detail, short(info.FirstPrompt, 60))
	}
	detail = append(detail, plural(info.Turns, "turn"))
	if info.CostUSD > 0 {
		detail = append(detail, dollars(info.CostUSD))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", code(cmp.Or(info.Title, info.FirstPrompt)))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, code(value))
		}
	}
	row("first prompt", info.FirstPrompt)
	row("folder", info.Dir)
	row("model", info.Model)
	row("turns", fmt.Sprint(info.Turns))
	if info.CostUSD > 0 {
		row("cost", dollars(info.CostUSD))
	}
	row("started", info.Created.Local().Format("2006-01-02 15:04"))
	row("last used", info.Modified.Local().Format("2006-01-02 15:04"))
	row("id", info.ID)
	return event.PickItem{
		ID: info.ID, Label: short(cmp.Or(info.Title, info.FirstPrompt), 120), Detail: strings.Join(detail, " · "),
		Preview: b.String(), Time: info.Modified, Current: info.ID == current,
	}
}

func completeSession(_ context.Context, h *Host, typed string) []event.Candidate {
	var out []event.Candidate
	for _, info := range findSessions(h, h.Instance.Dir(), typed, 50) {
		out = append(out, event.Candidate{
			Text: info.ID, Label: short(cmp.Or(info.Title, info.FirstPrompt), 60),
			Help: age(info.Modified),
		})
	}
	return out
}

func rename(ctx context.Context, h *Host, args string) (event.Output, error) {
	if args == "" {
		return event.Output{}, errors.New("give the title: /rename fix the login")
	}
	title := short(args, 100)
	return done(h.renamed(h.Session().Log().ID(), title, h.Session().Log().SetTitle(ctx, title)),
		"This session is called %s now.", code(title))
}

func renameSession(ctx context.Context, h *Host, args string) (event.Output, error) {
	id, title, _ := strings.Cut(args, " ")
	if strings.TrimSpace(title) == "" {
		return event.Output{}, errors.New("give the session and its title: /rename-session ID TITLE")
	}
	if id == h.Session().Log().ID() {
		return rename(ctx, h, title)
	}
	info, err := h.Instance.Store().Find(h.Instance.Dir(), id)
	if err != nil {
		return event.Output{}, err
	}
	s, err := h.Instance.Store().Open(ctx, info.ID)
	if err != nil {
		return event.Output{}, err
	}
	title = short(title, 100)
	return done(h.renamed(info.ID, title, errors.Join(s.SetTitle(ctx, title), s.Close())), "The session is called %s now.",
		code(title))
}

// renamed publishes that a session has another title, unless that failed.
func (h *Host) renamed(id, title string, err error) error {
	if err == nil {
		h.Publish(event.SessionRenamed{ID: id, Title: title})
	}
	return err
}

func fork(ctx context.Context, h *Host, args string) (event.Output, error) {
	if len(h.Session().Log().Messages()) == 0 {
		return event.Output{}, errNothing
	}
	from := h.Session().Log().ID()
	if err := h.Fork(ctx); err != nil {
		return event.Output{}, err
	}
	if args != "" {
		if err := h.Session().Log().SetTitle(ctx, short(args, 100)); err != nil {
			return event.Output{}, err
		}
	}
	return text("This is a copy now; /resume %s leads back to the original.", from), nil
}

func save(ctx context.Context, h *Host, _ string) (event.Output, error) {
	log := h.Session().Log()
	return done(log.Sync(ctx), "The session is in %s; lathe --resume %s goes on with it.", code(log.Folder()), log.ID())
}

func deleteSession(_ context.Context, h *Host, args string) (event.Output, error) {
	if args == "" {
		out, err := pickSession(h, false, "")
		if out.Pick != nil {
			out.Pick.Title, out.Pick.Command = "Delete which session?", "delete-session"
		}
		return out, err
	}
	info, err := h.Instance.Store().Find(h.Instance.Dir(), args)
	if err != nil {
		return event.Output{}, err
	}
	if info.ID == h.Session().Log().ID() {
		return event.Output{}, errors.New("this session is the one in front; start another with /new first")
	}
	err = h.Instance.Store().Trash(info.ID)
	if err == nil {
		h.Publish(event.SessionArchived{ID: info.ID})
	}
	return done(err, "Deleted %s. /restore-session %s brings it back for 30 days.",
		code(short(cmp.Or(info.Title, info.FirstPrompt, info.ID), 60)), info.ID)
}

func restoreSession(_ context.Context, h *Host, args string) (event.Output, error) {
	if args == "" {
		return event.Output{}, errors.New("give the id that /delete-session told")
	}
	err := h.Instance.Store().Restore(args)
	if err == nil {
		h.Publish(event.SessionArchived{ID: args, Back: true})
	}
	return done(err, "The session is back; /resume %s opens it.", args)
}
