package server

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Session is a conversation in a list.
type Session struct {
	ID          string    `json:"id"`
	Job         string    `json:"job,omitempty" jsonschema:"by which lathe ps lists its process"`
	Title       string    `json:"title,omitempty"`
	FirstPrompt string    `json:"firstPrompt,omitempty"`
	Dir         string    `json:"dir"`
	State       string    `json:"state" jsonschema:"asleep, working, blocked, done, failed or stopped"`
	WaitingFor  string    `json:"waitingFor,omitempty" jsonschema:"what a blocked one waits for: permission, answer, login"`
	Live        bool      `json:"live" jsonschema:"it has a process"`
	Activity    string    `json:"activity,omitempty"`
	Mode        string    `json:"mode,omitempty"`
	Model       string    `json:"model,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	Changed     time.Time `json:"changed"`
	Turns       int       `json:"turns,omitempty"`
	CostUSD     float64   `json:"costUSD,omitempty"`
	Parent      string    `json:"parent,omitempty" jsonschema:"the session that it was forked from"`
	Damaged     bool      `json:"damaged,omitempty"`
}

// asleep is the state of a session that has no job.
const asleep = "asleep"

// ofJob adds what the job of a session says.
func (x *Session) ofJob(j supervisor.Job) {
	x.Job, x.State, x.WaitingFor, x.Live, x.Activity = j.ID, string(j.State), j.WaitingFor, j.Live(), j.Activity
	x.ID, x.Dir, x.Mode = cmp.Or(x.ID, j.SessionID, j.ID), cmp.Or(x.Dir, j.CWD), cmp.Or(j.Mode, x.Mode)
	x.Title, x.FirstPrompt = cmp.Or(x.Title, j.Name), cmp.Or(x.FirstPrompt, firstLine(j.Prompt))
	if x.Created.IsZero() {
		x.Created = j.StartedAt
	}
	if j.Changed.After(x.Changed) {
		x.Changed = j.Changed
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func fromInfo(i session.Info) Session {
	return Session{
		ID: i.ID, Title: i.Title, FirstPrompt: i.FirstPrompt, Dir: i.Dir, State: asleep, Model: i.Model, Created: i.Created,
		Changed: i.Modified, Turns: i.Turns, CostUSD: i.CostUSD, Parent: i.Parent, Damaged: i.Damaged,
	}
}

// fromJob is a session of which only the job is looked at.
func fromJob(j supervisor.Job) (x Session) {
	x.ofJob(j)
	return x
}

// jobsBySession are the jobs by the ids of their sessions; the newest counts.
func (s *Server) jobsBySession() map[string]supervisor.Job {
	jobs, _ := s.Place.List() // those that can be read
	out := map[string]supervisor.Job{}
	for _, j := range jobs {
		id := cmp.Or(j.SessionID, j.ID)
		if have, ok := out[id]; !ok || !have.Live() && j.Live() {
			out[id] = j
		}
	}
	return out
}

// sessionsQuery asks for a list.
type sessionsQuery struct {
	Dir    string   `json:"-" query:"dir" doc:"only those of this folder"`
	Text   string   `json:"-" query:"text" doc:"only those with these words in title, first prompt, folder or id"`
	State  []string `json:"-" query:"state" doc:"only those in one of these states"`
	Cursor string   `json:"-" query:"cursor" doc:"next of the page before"`
	Limit  int      `json:"-" query:"limit" doc:"of a page; 50"`
}

// SessionPage is a part of the list, the newest first.
type SessionPage struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next,omitempty" jsonschema:"the cursor of the next page"`
}

const mostPage = 500

func listSessions(s *Server, _ *call, q sessionsQuery) (SessionPage, error) {
	all, err := s.all(q.Dir)
	if err != nil {
		return SessionPage{}, err
	}
	all = slices.DeleteFunc(all, func(x Session) bool { return !q.fits(x) })
	slices.SortFunc(all, func(a, b Session) int { return strings.Compare(b.place(), a.place()) })
	out := SessionPage{Sessions: []Session{}}
	limit := page(q.Limit)
	for _, x := range all {
		if q.Cursor != "" && x.place() >= q.Cursor {
			continue
		}
		if len(out.Sessions) == limit {
			out.Next = out.Sessions[limit-1].place()
			break
		}
		out.Sessions = append(out.Sessions, x)
	}
	return out, nil
}

func page(limit int) int { return min(cmp.Or(limit, 50), mostPage) }

// place is where a session is in the list.
func (x Session) place() string { return x.Changed.UTC().Format("20060102T150405.000000000") + x.ID }

func (q sessionsQuery) fits(x Session) bool {
	if len(q.State) > 0 && !slices.Contains(q.State, x.State) {
		return false
	}
	text := strings.ToLower(strings.Join([]string{x.ID, x.Title, x.FirstPrompt, x.Dir}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return q.Dir == "" || x.Dir == q.Dir
}

// all are the sessions of a folder ("": of all), also those that only have a job yet.
func (s *Server) all(dir string) (out []Session, _ error) {
	jobs := s.jobsBySession()
	for info, err := range s.Store.List(dir) {
		if info.ID == "" {
			if err != nil {
				return nil, err
			}
			continue
		}
		x := fromInfo(info)
		if j, ok := jobs[info.ID]; ok {
			x.ofJob(j)
			delete(jobs, info.ID)
		}
		out = append(out, x)
	}
	for _, j := range jobs {
		out = append(out, fromJob(j))
	}
	return out, nil
}

// named has the id of a session.
type named struct {
	ID string `json:"-" path:"id" doc:"of the session"`
}

func getSession(s *Server, _ *call, q named) (Session, error) { return s.session(q.ID) }

func (s *Server) session(id string) (Session, error) {
	j, has := s.job(id)
	if has && j.SessionID != "" {
		id = j.SessionID
	}
	info, err := s.info(id)
	if err != nil && !has {
		return Session{}, err
	}
	x := Session{}
	if err == nil {
		x = fromInfo(info)
	}
	if has {
		x.ofJob(j)
	}
	return x, nil
}

// info is what the store says of a session, by its whole id.
func (s *Server) info(id string) (session.Info, error) {
	if _, err := uuid.Parse(id); err == nil {
		if info, err := s.Store.Find("", id); err == nil && info.ID == strings.ToLower(id) {
			return info, nil
		}
	}
	return session.Info{}, notFound("no session has the id "+id, "GET /v1/sessions lists them")
}

// job is the job of a session, by the id of either.
func (s *Server) job(id string) (supervisor.Job, bool) {
	if j, ok := s.jobsBySession()[id]; ok {
		return j, true
	}
	if len(id) > 40 || id != filepath.Base(id) {
		return supervisor.Job{}, false
	}
	j, err := s.Place.Read(id)
	return j, err == nil
}

// door is how a principal gets to sessions.
func (s *Server) door(who Principal) supervisor.Door {
	return supervisor.Door{Place: s.Place, Face: who.face()}
}

// reach connects a principal to a session, whose process is started if it has none.
func (s *Server) reach(ctx context.Context, who Principal, id string) (*port.Stay, error) {
	defer s.waking.lock(id)()
	j, ok := s.job(id)
	if !ok {
		info, err := s.info(id)
		if err != nil {
			return nil, err
		}
		if j, err = s.door(who).Resume(ctx, info.ID, info.Dir); err != nil {
			s.forget(ctx, who, "--resume="+info.ID)
			return nil, problem(http.StatusConflict, "not-started", "The session could not be started", err.Error(),
				"end the lathe that has it open, or leave it there with /bg")
		}
	}
	return s.stay(who, j.ID), nil
}

// forget takes jobs off the list that never became a session, by a word of their command lines.
func (s *Server) forget(ctx context.Context, who Principal, arg string) {
	client, err := s.door(who).Supervisor(ctx)
	if err != nil {
		return // lathe rm takes them off the list
	}
	defer client.Close()
	jobs, _ := s.Place.List()
	for _, j := range jobs {
		if j.SessionID == "" && !j.Live() && slices.Contains(j.Args, arg) {
			_ = client.Remove(ctx, j.ID)
		}
	}
}

// mostWakes is how often a process that ends as it is started is started again.
const mostWakes = 5

// stay is a session that is connected when it is needed, and again while its process or the supervisor is replaced.
func (s *Server) stay(who Principal, job string) *port.Stay {
	failed := 0
	return port.NewStay(nil, func(ctx context.Context) (*port.Client, error) {
		c, err := s.door(who).Dial(ctx, job)
		if _, said := errors.AsType[*port.Failure](err); said && failed < mostWakes {
			failed++
			err = errors.New(err.Error()) // no Failure, so that it is tried again
		}
		return c, err
	})
}

// with calls f with a session.
func with[R any](s *Server, c *call, id string, f func(port.Session) (R, error)) (R, error) {
	stay, err := s.reach(c, c.who, id)
	if err != nil {
		var none R
		return none, err
	}
	defer func() { _ = stay.Close() }()
	return f(stay)
}

// NewSession describes a session to begin.
type NewSession struct {
	ID     string `json:"id,omitempty" jsonschema:"a UUID that the client chose: the same again is the same session"`
	Dir    string `json:"dir" jsonschema:"the folder that it works in"`
	Name   string `json:"name,omitempty"`
	Prompt string `json:"prompt,omitempty" jsonschema:"the first one"`
	Model  string `json:"model,omitempty"`
	Effort string `json:"effort,omitempty"`
	Mode   string `json:"mode,omitempty" jsonschema:"the permission mode"`
	Branch bool   `json:"worktree,omitempty" jsonschema:"work in a git worktree of its own"`
}

func createSession(s *Server, c *call, n NewSession) (Session, error) {
	if n.ID == "" {
		n.ID = uuid.NewString()
	}
	id, err := uuid.Parse(n.ID)
	if err != nil {
		return Session{}, badRequest("id: "+n.ID+" is no UUID", "leave it out, or send a UUID")
	}
	n.ID = id.String()
	defer s.waking.lock(n.ID)()
	if x, err := s.session(n.ID); err == nil {
		return x, nil
	}
	args, err := s.argsOf(c, n)
	if err != nil {
		return Session{}, err
	}
	jobs, _ := s.Place.List()
	for _, j := range jobs { // begun before, by a server that was killed
		if slices.Contains(j.Args, args[0]) {
			return s.begun(c, j.ID)
		}
	}
	j, err := s.door(c.who).Start(c, supervisor.Start{
		Name: n.Name, Kind: "background", CWD: n.Dir, Args: args, Prompt: n.Prompt,
	})
	if err != nil {
		s.forget(c, c.who, args[0])
		return Session{}, problem(http.StatusUnprocessableEntity, "not-started", "The session could not be started",
			err.Error(), "change what the detail names")
	}
	return s.begun(c, j.ID)
}

// begun is a session that was begun just now.
func (s *Server) begun(c *call, job string) (Session, error) {
	client, err := s.door(c.who).Dial(c, job) // it knows its session's id then
	if err != nil {
		return Session{}, err
	}
	_ = client.Close()
	return s.session(job)
}

// argsOf is the command line of a new session; its id comes first.
func (s *Server) argsOf(c *call, n NewSession) ([]string, error) {
	st, err := os.Stat(n.Dir)
	switch {
	case !filepath.IsAbs(n.Dir):
		return nil, badRequest("dir has to be absolute: "+n.Dir, "GET /v1/projects lists folders")
	case errors.Is(err, fs.ErrNotExist) || err == nil && !st.IsDir():
		return nil, notFound("there is no folder "+n.Dir, "GET /v1/projects lists folders")
	case err != nil:
		return nil, err
	case !c.who.May(Admin) && !s.known(n.Dir):
		return nil, forbidden("no session worked in "+n.Dir+" yet",
			"begin the first one on the machine itself, or with the scope admin")
	case n.Mode != "" && !slices.Contains(s.Modes, n.Mode):
		return nil, badRequest("there is no mode "+n.Mode, "GET /v1/modes lists them")
	}
	if p := mayMode(c.who, n.Mode); p != nil {
		return nil, p
	}
	args := []string{"--session-id=" + n.ID}
	for _, f := range []struct{ name, value string }{
		{"--name=", n.Name}, {"--model=", n.Model}, {"--effort=", n.Effort}, {"--permission-mode=", n.Mode},
	} {
		if f.value != "" {
			args = append(args, f.name+f.value)
		}
	}
	if n.Branch {
		args = append(args, "--worktree")
	}
	return args, nil
}

// mayMode says whether a principal may choose a mode: the one in which nothing is asked needs all.
func mayMode(who Principal, mode string) *Problem {
	switch mode {
	case "", "plan":
		return nil
	case "bypassPermissions":
		if who.May(Admin) {
			return nil
		}
		return lacks(Admin)
	}
	if !who.May(Approve) {
		return lacks(Approve)
	}
	return nil
}

// known reports whether a session worked in a folder.
func (s *Server) known(dir string) bool {
	for info, err := range s.Store.List(dir) {
		if err == nil && info.ID != "" {
			return true
		}
	}
	jobs, _ := s.Place.List()
	return slices.ContainsFunc(jobs, func(j supervisor.Job) bool { return j.CWD == dir })
}
