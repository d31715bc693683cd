package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Project is a folder in which sessions worked.
type Project struct {
	Dir      string    `json:"dir"`
	Sessions int       `json:"sessions"`
	Live     int       `json:"live" jsonschema:"sessions with a process"`
	Blocked  int       `json:"blocked" jsonschema:"sessions that wait for you"`
	Changed  time.Time `json:"changed"`
}

// Projects are all of them, the one used last first.
type Projects struct {
	Projects []Project `json:"projects"`
}

func listProjects(s *Server, _ *call, _ none) (Projects, error) {
	all, err := s.all("")
	by := map[string]*Project{}
	for _, x := range all {
		p := by[x.Dir]
		if p == nil {
			p = &Project{Dir: x.Dir}
			by[x.Dir] = p
		}
		if p.Sessions++; x.Live {
			p.Live++
		}
		if x.State == "blocked" {
			p.Blocked++
		}
		if x.Changed.After(p.Changed) {
			p.Changed = x.Changed
		}
	}
	out := Projects{[]Project{}}
	for _, p := range by {
		out.Projects = append(out.Projects, *p)
	}
	slices.SortFunc(out.Projects, func(a, b Project) int {
		return cmp.Or(b.Changed.Compare(a.Changed), strings.Compare(a.Dir, b.Dir))
	})
	return out, err
}

// Renaming gives a session another title.
type Renaming struct {
	named
	Title string `json:"title"`
}

func rename(s *Server, c *call, n Renaming) (Session, error) {
	if n.Title = strings.TrimSpace(n.Title); n.Title == "" || strings.ContainsAny(n.Title, "\r\n") {
		return Session{}, badRequest("a title is one line of text", "send one")
	}
	if j, ok := s.job(n.ID); ok && j.Live() {
		_, err := with(s, c, n.ID, func(p port.Session) (event.Output, error) {
			return p.Command(c, port.Command{Name: "rename", Args: n.Title})
		})
		if err != nil {
			return Session{}, err
		}
	} else if err := s.opened(c, n.ID, func(log *session.Session) error { return log.SetTitle(c, n.Title) }); err != nil {
		return Session{}, err
	}
	return s.session(n.ID)
}

// opened calls f with the log of a session that has no process.
func (s *Server) opened(ctx context.Context, id string, f func(*session.Session) error) error {
	log, err := s.Store.Open(ctx, id)
	if err != nil {
		return inUse(err)
	}
	return errors.Join(f(log), log.Close())
}

// inUse makes a problem of a lock.
func inUse(err error) error {
	if _, ok := errors.AsType[*session.LockedError](err); ok {
		return problem(http.StatusConflict, "in-use", "Another process has the session open", err.Error(),
			"end that lathe, or leave it with /bg")
	}
	return err
}

// Forking copies a conversation.
type Forking struct {
	named
	As string `json:"id,omitempty" jsonschema:"a UUID that the client chose: the same again is the same copy"`
	At string `json:"at,omitempty" jsonschema:"the entry that it ends with: of a cursor, what follows the colon; empty: the end"`
}

func fork(s *Server, c *call, f Forking) (Session, error) {
	x, err := s.session(f.ID)
	if err != nil {
		return Session{}, err
	}
	if f.As != "" {
		defer s.waking.lock(f.As)()
		if have, err := s.session(f.As); err == nil {
			return have, nil
		}
	}
	log, err := s.Store.ForkAs(c, x.ID, f.At, f.As)
	if err != nil {
		return Session{}, problem(http.StatusUnprocessableEntity, "failed", "The session cannot be forked", err.Error(),
			"name an entry of the session")
	}
	id := log.ID()
	if err := log.Close(); err != nil {
		return Session{}, err
	}
	return s.session(id)
}

// endJob ends the process of a session and forgets the job.
func (s *Server) endJob(c *call, id string) error {
	j, ok := s.job(id)
	if !ok {
		return nil
	}
	client, err := s.door(c.who).Supervisor(c)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Remove(c, j.ID)
}

func archive(s *Server, c *call, q named) (none, error) {
	x, err := s.session(q.ID)
	if err == nil {
		if err = s.endJob(c, q.ID); err == nil {
			err = inUse(s.Store.Trash(x.ID))
		}
	}
	return none{}, err
}

func restore(s *Server, _ *call, q named) (Session, error) {
	if err := s.Store.Restore(q.ID); err != nil {
		return Session{}, notFound(err.Error(), "it is deleted for good, or was never archived")
	}
	return s.session(q.ID)
}

func remove(s *Server, c *call, q named) (none, error) {
	x, err := s.session(q.ID)
	if err == nil {
		if err = s.endJob(c, q.ID); err == nil {
			err = inUse(s.Store.Remove(x.ID))
		}
	}
	return none{}, err
}

func stop(s *Server, c *call, q named) (Session, error) {
	j, ok := s.job(q.ID)
	if !ok {
		return s.session(q.ID)
	}
	client, err := s.door(c.who).Supervisor(c)
	if err != nil {
		return Session{}, err
	}
	defer client.Close()
	if _, err := client.Stop(c, j.ID); err != nil {
		return Session{}, err
	}
	return s.session(q.ID)
}

type exportQuery struct {
	named
	Format string `json:"-" query:"format" doc:"md, html or jsonl"`
}

// exports are the forms of an export, with their types.
var exports = map[string]struct {
	format session.ExportFormat
	mime   string
}{
	"": {session.Markdown, "text/markdown"}, "md": {session.Markdown, "text/markdown"},
	"html": {session.HTML, "text/html"}, "jsonl": {session.JSONL, "application/jsonl"},
}

// export sends a session as a file. It streams, so that a large one takes no memory.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	x, err := s.session(r.PathValue("id"))
	kind, ok := exports[r.URL.Query().Get("format")]
	if err == nil && !ok {
		err = badRequest("there is no such format", "ask for md, html or jsonl")
	}
	var log *session.Session
	if err == nil {
		log, err = s.Store.OpenReadOnly(x.ID)
	}
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	defer func() { _ = log.Close() }() // it only read
	h := w.Header()
	h.Set("Content-Type", kind.mime+"; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, x.ID, cmp.Or(r.URL.Query().Get("format"), "md")))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(10 * writeWait))
	if session.Export(w, log, kind.format) != nil {
		panic(http.ErrAbortHandler) // so that the other side sees that the end is missing
	}
}

// Used is what a session used.
type Used struct {
	Turns     int       `json:"turns"`
	Usage     llm.Usage `json:"usage" jsonschema:"tokens, as of the last turn that ended"`
	CostUSD   float64   `json:"costUSD"`
	AgentsUSD float64   `json:"agentsUSD" jsonschema:"of its subagents"`
}

func usage(s *Server, _ *call, q named) (Used, error) {
	x, err := s.session(q.ID)
	if err != nil {
		return Used{}, err
	}
	info, err := s.info(x.ID)
	if err != nil {
		return Used{}, err
	}
	below, _ := s.Store.CostOfChildren(x.ID) // lathe session verify reports those that cannot be read
	return Used{info.Turns, info.Usage, info.CostUSD, below}, nil
}

// FileDiff is a change of one file.
type FileDiff struct {
	Path    string `json:"path"`
	Unified string `json:"unified" jsonschema:"a unified diff, or a line on what cannot be shown as one"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// Diffs are changes of files.
type Diffs struct {
	Files []FileDiff `json:"files"`
}

type diffQuery struct {
	named
	Turn string `json:"-" query:"turn" doc:"the id of a prompt: what its turn changed; without, what the session changed"`
	Of   string `json:"-" query:"of" doc:"theirs: what others changed between the steps"`
}

func diffs(s *Server, c *call, q diffQuery) (Diffs, error) {
	x, err := s.session(q.ID)
	if err != nil {
		return Diffs{}, err
	}
	out, err := s.Diff(c, x.Dir, x.ID, q.Turn, q.Of == "theirs")
	if err != nil {
		return Diffs{}, problem(http.StatusUnprocessableEntity, "failed", "The changes cannot be read", err.Error(),
			"name a turn by the id of its prompt")
	}
	return Diffs{append([]FileDiff{}, out...)}, nil
}

// Undoing takes steps back.
type Undoing struct {
	named
	Count int    `json:"count,omitempty" jsonschema:"steps; 1"`
	Do    string `json:"do,omitempty" jsonschema:"for files that others changed since: show, keep, take or merge"`
}

func undo(s *Server, c *call, u Undoing) (event.Output, error) {
	return s.takeBack(c, u, strings.TrimSpace(fmt.Sprint(max(u.Count, 1), " ", u.Do)), "undo")
}

func redo(s *Server, c *call, u Undoing) (event.Output, error) { return s.takeBack(c, u, u.Do, "redo") }

func (s *Server) takeBack(c *call, u Undoing, args, name string) (event.Output, error) {
	if !slices.Contains([]string{"", "show", "keep", "take", "merge"}, u.Do) {
		return event.Output{}, badRequest("do cannot be "+u.Do, "send show, keep, take or merge, or nothing")
	}
	return with(s, c, u.ID, func(p port.Session) (event.Output, error) {
		return p.Command(c, port.Command{Name: name, Args: args})
	})
}

// Model is a model that can be chosen.
type Model struct {
	ID            string     `json:"id"`
	Name          string     `json:"name,omitempty"`
	ContextWindow int        `json:"contextWindow,omitempty" jsonschema:"tokens"`
	MaxOutput     int        `json:"maxOutputTokens,omitempty"`
	Images        bool       `json:"images"`
	Thinking      string     `json:"thinking,omitempty"`
	Price         *llm.Price `json:"price,omitempty" jsonschema:"US dollars per million tokens"`
}

// Models are those that can be chosen.
type Models struct {
	Models []Model `json:"models"`
}

type modelsQuery struct {
	Dir string `json:"-" query:"dir" doc:"the folder whose settings count"`
}

func listModels(s *Server, c *call, q modelsQuery) (Models, error) {
	if _, err := s.settingsIn(c.who, q.Dir); err != nil {
		return Models{}, err
	}
	all, err := s.Models(c, cmp.Or(q.Dir, s.Folder))
	if err != nil {
		return Models{}, problem(http.StatusBadGateway, "models", "The models cannot be listed", err.Error(),
			"check the provider and its key: lathe doctor")
	}
	return Models{append([]Model{}, all...)}, nil
}

// Modes are the permission modes, with the scope that a device needs to choose one.
type Modes struct {
	Modes []ModeScope `json:"modes"`
}

// ModeScope is a permission mode.
type ModeScope struct {
	Name  string `json:"name"`
	Scope Scope  `json:"scope"`
}

func listModes(s *Server, _ *call, _ none) (out Modes, _ error) {
	for _, m := range s.Options.Modes {
		scope := Approve
		switch m {
		case "plan":
			scope = Prompt
		case "bypassPermissions":
			scope = Admin
		}
		out.Modes = append(out.Modes, ModeScope{m, scope})
	}
	return out, nil
}

// view shows what a slash command without arguments shows.
func view(name string) func(*Server, *call, named) (event.Output, error) {
	return func(s *Server, c *call, q named) (event.Output, error) {
		return with(s, c, q.ID, func(p port.Session) (event.Output, error) { return p.Command(c, port.Command{Name: name}) })
	}
}
