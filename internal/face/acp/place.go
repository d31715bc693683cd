package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// checkPlace refuses parameters that no session can have.
func (p placeParams) check() error {
	for _, dir := range append([]string{p.CWD}, p.Dirs...) {
		if !filepath.IsAbs(dir) {
			return badParams("the folder %q has to be an absolute path", dir)
		}
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return badParams("the folder %q does not exist", dir)
		}
	}
	_, err := serverFile(p.Servers)
	return err
}

// serverFile is the client's MCP servers as lathe reads them; nil where there are none.
func serverFile(list []mcpServer) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	type entry struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	all := map[string]entry{}
	for _, s := range list {
		e := entry{Type: s.Type, Command: s.Command, Args: s.Args, Env: byName(s.Env), URL: s.URL, Headers: byName(s.Headers)}
		switch {
		case s.Name == "" || all[s.Name].Command+all[s.Name].URL != "":
			return nil, badParams("each MCP server needs a name of its own")
		case (s.Type == "" || s.Type == "stdio") && s.Command == "":
			return nil, badParams("the MCP server %q needs a command", s.Name)
		case (s.Type == "http" || s.Type == "sse") && s.URL == "":
			return nil, badParams("the MCP server %q needs a URL", s.Name)
		case !slices.Contains([]string{"", "stdio", "http", "sse"}, s.Type):
			return nil, badParams("the MCP server %q is of the type %q, which lathe does not know", s.Name, s.Type)
		}
		all[s.Name] = e
	}
	return json.Marshal(map[string]any{"mcpServers": all})
}

func byName(list []pair) map[string]string {
	out := map[string]string{}
	for _, p := range list {
		out[p.Name] = p.Value
	}
	return out
}

// serversFile is where a job's MCP servers are: the user's alone, since they may have secrets, which a command line
// would show to everyone.
func (a *Agent) serversFile(job string) string {
	return filepath.Join(a.Door.Place.Folder(job), "mcp.json")
}

// keepServers writes the MCP servers of a job, and returns the flag that names them.
func (a *Agent) keepServers(job string, list []mcpServer) ([]string, error) {
	b, err := serverFile(list)
	if err != nil || b == nil {
		return nil, err
	}
	file := a.serversFile(job)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	return []string{"--mcp-config=" + file}, atomicfile.Write(file, b, 0o600)
}

// newSession is session/new.
func (a *Agent) newSession(ctx context.Context, p placeParams) (opened, error) {
	if err := p.check(); err != nil {
		return opened{}, err
	}
	p.SessionID = session.NewID()
	j, err := a.start(ctx, p, uuid.NewString()[:8], "--session-id="+p.SessionID)
	if err != nil {
		return opened{}, err
	}
	return a.openNew(ctx, p, j)
}

// openNew opens a session that was made; one that cannot be opened is not kept.
func (a *Agent) openNew(ctx context.Context, p placeParams, j supervisor.Job) (opened, error) {
	out, err := a.open(ctx, p, j, false, true)
	if err != nil {
		a.forget(context.WithoutCancel(ctx), j.ID)
	}
	return out, err
}

// fork is session/fork: a copy of a session, which goes on by itself.
func (a *Agent) fork(ctx context.Context, p placeParams) (opened, error) {
	if err := p.check(); err != nil {
		return opened{}, err
	}
	info, found := a.stored(p.SessionID)
	if !found {
		return opened{}, notFound(p.SessionID)
	}
	of := p.SessionID
	p.SessionID, p.CWD = session.NewID(), info.Dir
	j, err := a.start(ctx, p, uuid.NewString()[:8], "--resume="+of, "--fork-session", "--session-id="+p.SessionID)
	if err != nil {
		return opened{}, err
	}
	return a.openNew(ctx, p, j)
}

// start begins the job of a session.
func (a *Agent) start(ctx context.Context, p placeParams, job string, flags ...string) (supervisor.Job, error) {
	servers, err := a.keepServers(job, p.Servers)
	if err != nil {
		return supervisor.Job{}, err
	}
	args := slices.Concat(a.Args, flags, servers)
	for _, dir := range p.Dirs {
		args = append(args, "--add-dir="+dir)
	}
	j, err := a.Door.Start(ctx, supervisor.Start{ID: job, Kind: "background", CWD: p.CWD, Args: args})
	if err == nil {
		return j, nil
	}
	a.forget(ctx, job)
	if noKey := a.LoggedIn(ctx); noKey != nil && strings.Contains(err.Error(), noKey.Error()) {
		return j, fault(codeAuth, "%v", noKey)
	}
	return j, err
}

// forget takes a job off the list. The session of it stays.
func (a *Agent) forget(ctx context.Context, job string) {
	if c, err := a.Door.Supervisor(ctx); err == nil {
		_ = c.Remove(ctx, job) // what is left is found by lathe ps
		c.Close()
	}
}

// comeBack is session/load, which shows the history again, and session/resume.
func (a *Agent) comeBack(ctx context.Context, p placeParams, replay bool) (opened, error) {
	if err := p.check(); err != nil {
		return opened{}, err
	}
	if s, err := a.session(p.SessionID); err == nil {
		a.drop(s)
	}
	job, err := a.jobOf(p.SessionID)
	if err != nil {
		info, found := a.stored(p.SessionID)
		if !found {
			return opened{}, notFound(p.SessionID)
		}
		p.CWD = info.Dir
		if job, err = a.start(ctx, p, uuid.NewString()[:8], "--resume="+p.SessionID); err != nil {
			return opened{}, err
		}
	} else if err := a.renewServers(ctx, job, p.Servers); err != nil {
		return opened{}, err
	}
	return a.open(ctx, p, job, replay, false)
}

// renewServers gives a job the client's MCP servers. A process that rests is started afresh for them; one that works is
// not, and has them when it is started next.
func (a *Agent) renewServers(ctx context.Context, j supervisor.Job, list []mcpServer) error {
	want, err := serverFile(list)
	if err != nil || !slices.Contains(j.Args, "--mcp-config="+a.serversFile(j.ID)) {
		return err
	}
	if had, err := os.ReadFile(a.serversFile(j.ID)); err == nil && string(had) == string(want) || want == nil {
		return nil
	}
	if _, err := a.keepServers(j.ID, list); err != nil {
		return err
	}
	if !j.Live() || j.State == supervisor.Working || j.State == supervisor.Blocked {
		return nil
	}
	return a.respawn(ctx, j.ID, nil)
}

// respawn starts the process of a job afresh; nil: with the arguments that it had.
func (a *Agent) respawn(ctx context.Context, job string, args []string) error {
	c, err := a.Door.Supervisor(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Respawn(ctx, supervisor.Named{ID: job, Environ: os.Environ(), Args: args})
	return err
}

func notFound(id string) error { return fault(codeNotFound, "there is no session %q", id) }

// jobOf is the job of a session.
func (a *Agent) jobOf(id string) (supervisor.Job, error) {
	jobs, _ := a.Door.Place.List() // those that can be read
	for _, j := range jobs {
		if j.SessionID == id && id != "" {
			return j, nil
		}
	}
	return supervisor.Job{}, notFound(id)
}

// stored is what is on disk of a session.
func (a *Agent) stored(id string) (session.Info, bool) {
	if uuid.Validate(id) != nil {
		return session.Info{}, false
	}
	info, err := a.Store.Find("", id)
	return info, err == nil && info.ID == id
}

// listed is how many sessions one answer to session/list has.
const listed = 100

// list is session/list. A cursor is the number of the sessions before.
func (a *Agent) list(_ context.Context, p listParams) (listResult, error) {
	if p.CWD != "" && !filepath.IsAbs(p.CWD) {
		return listResult{}, badParams("the folder %q has to be an absolute path", p.CWD)
	}
	from := 0
	if p.Cursor != "" {
		n, err := strconv.Atoi(p.Cursor)
		if err != nil || n < 0 {
			return listResult{}, badParams("the cursor %q is not one of lathe's", p.Cursor)
		}
		from = n
	}
	out, at := listResult{Sessions: []sessionInfo{}}, 0
	for info, err := range a.Store.List(p.CWD) {
		if info.ID == "" && err != nil {
			return listResult{}, fmt.Errorf("the sessions cannot be listed: %w", err)
		}
		if err != nil || info.Agent != "" || !filepath.IsAbs(info.Dir) {
			continue // it cannot be opened
		}
		if info.Title == "" && info.FirstPrompt == "" {
			continue // nothing was said in it yet
		}
		if at++; at <= from {
			continue
		}
		if len(out.Sessions) == listed {
			out.Next = strconv.Itoa(from + listed)
			break
		}
		title := info.Title
		if title == "" {
			title = info.FirstPrompt
		}
		out.Sessions = append(out.Sessions, sessionInfo{
			SessionID: info.ID, CWD: info.Dir, Title: strings.ToValidUTF8(title, ""),
			UpdatedAt: info.Modified.UTC().Format(time.RFC3339),
		})
	}
	return out, nil
}

// remove is session/delete: the session goes to the trash.
func (a *Agent) remove(ctx context.Context, p sessionParams) (struct{}, error) {
	if s, err := a.session(p.SessionID); err == nil {
		s.cancel()
		a.drop(s)
	}
	if job, err := a.jobOf(p.SessionID); err == nil {
		a.forget(ctx, job.ID)
	}
	if _, found := a.stored(p.SessionID); !found {
		return struct{}{}, nil // there is nothing to delete, which is what the client wants
	}
	return struct{}{}, a.Store.Trash(p.SessionID)
}

// closeSession is session/close: the turn and the process end, and the session stays on disk.
func (a *Agent) closeSession(ctx context.Context, p sessionParams) (struct{}, error) {
	s, err := a.session(p.SessionID)
	if err != nil {
		return struct{}{}, err
	}
	s.cancel()
	a.drop(s)
	if s.unused() {
		a.forget(ctx, s.jobID)
		return struct{}{}, nil
	}
	c, err := a.Door.Supervisor(ctx)
	if err != nil {
		return struct{}{}, err
	}
	defer c.Close()
	_, err = c.Stop(ctx, s.jobID)
	return struct{}{}, err
}

// session is a session that the client has open.
func (a *Agent) session(id string) (*openSession, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, notFound(id)
}

// drop ends what the client sees of a session. The session goes on.
func (a *Agent) drop(s *openSession) {
	a.mu.Lock()
	if a.sessions[s.id] == s {
		delete(a.sessions, s.id)
	}
	a.mu.Unlock()
	s.end(errors.New("the session was closed"))
}

// leave ends what the client sees of all sessions, and removes those in which nothing was said.
func (a *Agent) leave() {
	a.mu.Lock()
	var all []*openSession
	for _, s := range a.sessions {
		all = append(all, s)
	}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.life), leaveWait)
	defer cancel()
	for _, s := range all {
		a.drop(s)
		if s.unused() {
			a.forget(ctx, s.jobID)
		}
	}
}

// leaveWait is how long removing unused sessions may take.
const leaveWait = 3 * time.Second
