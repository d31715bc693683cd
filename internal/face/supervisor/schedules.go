package supervisor

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/store/schedule"
)

// timeEvery is how often the supervisor looks whether a schedule is due.
const timeEvery = time.Second

// Schedules are the schedules that start sessions.
func (p Place) Schedules() *schedule.Store {
	return schedule.At(filepath.Join(filepath.Dir(p.Jobs), schedule.FileName))
}

// Scheduled is a schedule that starts sessions with an environment.
type Scheduled struct {
	Schedule schedule.Schedule `json:"schedule"`
	Environ  []string          `json:"environ"`
}

// Schedule keeps a schedule that starts sessions.
func (c *Client) Schedule(ctx context.Context, s Scheduled) (x schedule.Schedule, err error) {
	err = c.conn.Call(ctx, methodSchedule, s, &x)
	return x, err
}

// timekeeper is what the supervisor knows of schedules. The supervisor's lock guards its maps.
type timekeeper struct {
	starts   *schedule.Store
	environs map[string][]string // by schedule
	sleeping map[string]*sleeper // by job
}

// sleeper is a job whose schedules wake it. It may have a process.
type sleeper struct {
	all     *schedule.Store
	environ []string  // nil: not known
	tried   time.Time // what was due when it was woken last; once is enough
}

// sleep remembers a job that lost its process.
func (s *Supervisor) sleep(j Job, environ []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.times.sleeping[j.ID]
	if j.Schedules == "" {
		delete(s.times.sleeping, j.ID)
		return
	}
	now := &sleeper{all: schedule.At(j.Schedules), environ: environ}
	if old != nil {
		now.tried = old.tried
		if environ == nil {
			now.environ = old.environ
		}
	}
	s.times.sleeping[j.ID] = now
}

// schedule keeps a schedule that starts sessions.
func (s *Supervisor) schedule(in Scheduled) (schedule.Schedule, error) {
	if in.Schedule.Session == nil {
		return in.Schedule, errors.New("the schedule names no session to start")
	}
	x, err := s.times.starts.Add(in.Schedule)
	if err != nil {
		return x, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times.environs[x.ID] = in.Environ
	return x, nil
}

// rest ends the supervisor when nothing is left for it to do, also later.
func (s *Supervisor) rest() {
	if s.awaited() {
		s.quiet.Reset(Linger)
		return
	}
	s.stop()
}

// awaited reports whether a schedule will start or wake a session.
func (s *Supervisor) awaited() bool {
	if all, err := s.times.starts.List(); err != nil || len(all) > 0 {
		return true
	}
	for id, sl := range s.sleepers() {
		all, err := sl.all.List()
		if j, readErr := s.Read(id); err == nil && len(all) > 0 && readErr == nil && wakes(j) {
			return true
		}
	}
	return false
}

// wakes reports whether schedules wake a job: not one that the user stopped, nor one that waits for its environment.
func wakes(j Job) bool { return j.State != Stopped && j.WaitingFor != "login" }

func (s *Supervisor) sleepers() map[string]*sleeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.times.sleeping)
}

// keepTime starts and wakes sessions when they are due, until ctx ends.
func (s *Supervisor) keepTime(ctx context.Context) {
	tick := time.NewTicker(timeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.startDue(ctx)
		s.wakeDue(ctx)
	}
}

// startDue starts the sessions that are due. One whose last session still works is left out this time.
func (s *Supervisor) startDue(ctx context.Context) {
	now := time.Now()
	due, err := s.times.starts.Due(now)
	if err != nil {
		s.Log.Error("schedules do not run", "error", err)
		return
	}
	for _, x := range due {
		if x.Session == nil {
			continue
		}
		last, err := s.Read(x.Session.Last)
		if err != nil || last.State != Working && last.State != Blocked {
			x.Session.Last = s.startOne(ctx, x)
		}
		if err := s.times.starts.Ran(x, now); err != nil {
			s.Log.Error("a schedule is not kept", "schedule", x.ID, "error", err)
		}
	}
}

// startOne starts the session of a schedule, and returns the job. Its id follows from the run, so that each run starts
// once, also if the supervisor is killed.
func (s *Supervisor) startOne(ctx context.Context, x schedule.Schedule) string {
	sum := fnv.New32a()
	_, _ = fmt.Fprintf(sum, "%s %d", x.ID, x.Due.UnixMilli()) // it never fails
	id := hex.EncodeToString(sum.Sum(nil))
	if _, err := s.Read(id); err == nil {
		return id
	}
	s.mu.Lock()
	environ := s.times.environs[x.ID]
	s.mu.Unlock()
	_, err := s.start(ctx, Start{
		ID: id, Name: x.Session.Name, Kind: "background", CWD: x.Session.CWD, Args: x.Session.Args, Prompt: x.Prompt,
		Environ: orOwn(environ),
	})
	if err == nil {
		return id
	}
	s.Log.Error("a scheduled session did not start", "schedule", x.ID, "error", err)
	if j, readErr := s.Read(id); readErr == nil && j.State != Failed {
		j.State, j.Activity, j.Changed = Failed, err.Error(), time.Now()
		s.keep(j)
	}
	return id
}

// orOwn is an environment, or if it is not known that of the supervisor: of the command that started it.
func orOwn(environ []string) []string {
	if environ == nil {
		return Surroundings()
	}
	return environ
}

// wakeDue starts the processes of jobs whose schedules are due. The process sends the prompts.
func (s *Supervisor) wakeDue(ctx context.Context) {
	for id, sl := range s.sleepers() {
		if s.worker(id) != nil {
			continue
		}
		due, err := sl.all.Due(time.Now())
		if err != nil || len(due) == 0 || !s.try(sl, due[0].Due) {
			continue
		}
		j, err := s.Read(id)
		if err != nil || !wakes(j) {
			continue
		}
		s.Log.Info("a schedule wakes a session", "job", id, "schedule", due[0].ID)
		if _, err := s.wake(ctx, Named{ID: id, Environ: orOwn(sl.environ)}); err != nil {
			s.Log.Error("a session is not woken", "job", id, "error", err)
		}
	}
}

// try notes that a job is woken for what was due at a time; false: it was already.
func (s *Supervisor) try(sl *sleeper, due time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := due.Equal(sl.tried)
	sl.tried = due
	return !again
}

// stopped marks a job that the user stopped, so that its schedules do not wake it.
func (s *Supervisor) stopped(j Job) (Job, error) {
	if j.Schedules == "" || j.State == Stopped {
		return j, nil
	}
	if all, err := schedule.At(j.Schedules).List(); err != nil || len(all) == 0 {
		return j, err
	}
	j.State, j.WaitingFor, j.Changed = Stopped, "", time.Now()
	return j, s.Write(j)
}
