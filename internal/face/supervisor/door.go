package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/face/port"
)

// Door is how a face gets to the sessions of a user. It starts the supervisor and the processes that are needed.
type Door struct {
	Place Place
	Face  port.Face // who comes in
}

// Supervisor connects to the supervisor, which is started if none runs.
func (d Door) Supervisor(ctx context.Context) (*Client, error) {
	return d.Place.Ensure(ctx, d.Place.Spawn)
}

// Start begins a job, whose process gets the environment of this one if Start has none.
func (d Door) Start(ctx context.Context, s Start) (Job, error) {
	c, err := d.Supervisor(ctx)
	if err != nil {
		return Job{}, err
	}
	defer c.Close()
	if s.Environ == nil {
		s.Environ = Surroundings()
	}
	return c.Start(ctx, s)
}

// Resume returns the job of a session that is kept on disk, and starts one if it has none. The session lies in the
// folder cwd.
func (d Door) Resume(ctx context.Context, session, cwd string, args ...string) (Job, error) {
	jobs, _ := d.Place.List() // those that can be read
	for _, j := range jobs {
		if j.SessionID == session {
			return j, nil
		}
	}
	return d.Start(ctx, Start{Kind: "background", CWD: cwd, Args: append([]string{"--resume=" + session}, args...)})
}

// Dial connects to the process of a job, which the supervisor starts if it has none.
func (d Door) Dial(ctx context.Context, id string) (*port.Client, error) {
	if c, err := port.Dial(ctx, d.Place.Socket(id), d.Face); err == nil {
		return c, nil
	}
	s, err := d.Supervisor(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if _, err := s.Wake(ctx, Named{ID: id, Environ: Surroundings()}); err != nil {
		return nil, err
	}
	return port.Dial(ctx, d.Place.Socket(id), d.Face)
}

// Stay connects to the process of a job, and connects again when it or the connection ended.
func (d Door) Stay(ctx context.Context, id string) (*port.Stay, error) {
	first, err := d.Dial(ctx, id)
	if err != nil {
		return nil, err
	}
	return port.NewStay(first, func(ctx context.Context) (*port.Client, error) { return d.Dial(ctx, id) }), nil
}

// Beside starts a job whose process is a child of this one, without the supervisor. Join and Adopt are to follow.
func (d Door) Beside(s Start) (Job, error) {
	now := time.Now()
	j := Job{
		ID: uuid.NewString()[:8], Name: s.Name, Kind: s.Kind, CWD: s.CWD, State: Done, StartedAt: now, Changed: now,
		Args: s.Args, Protocol: port.Version,
	}
	if err := d.Place.Write(j); err != nil {
		return Job{}, err
	}
	if err := d.Place.beside(j); err != nil {
		return Job{}, errors.Join(err, d.Place.Remove(j.ID))
	}
	return j, nil
}

// Join is Dial for a job that has just been started. The error is a [*Failure] if its session could not begin; the job
// is off the list then.
func (d Door) Join(ctx context.Context, id string) (*port.Client, error) {
	c, err := port.Dial(ctx, d.Place.Socket(id), d.Face)
	if err == nil {
		return c, nil
	}
	if j, err := d.Place.Read(id); err == nil && j.Failure != nil {
		return nil, errors.Join(j.Failure, d.Place.Remove(id))
	}
	return d.Dial(ctx, id)
}

// Adopt has the supervisor watch the process of a job.
func (d Door) Adopt(ctx context.Context, id string) error {
	s, err := d.Supervisor(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Wake(ctx, Named{ID: id, Environ: Surroundings()})
	return err
}
