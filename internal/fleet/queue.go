package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ReadJobs reads a job from each line. Empty lines are skipped. The paths of files with prompts are relative to dir.
func ReadJobs(r io.Reader, dir string) ([]Job, error) {
	var out []Job
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var j struct {
			Job
			File string `json:"prompt_file"`
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&j); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if j.File != "" {
			b, err := os.ReadFile(inDir(dir, j.File))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			j.Prompt = string(b)
		}
		out = append(out, j.Job)
	}
	return out, lines.Err()
}

func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Absolute makes the path of a local repository absolute: workers have other folders.
func (j *Job) Absolute() error {
	if j.Repo == "" {
		return nil
	}
	if _, err := os.Stat(j.Repo); err != nil {
		return nil // a URL; a worker says so if it is none
	}
	var err error
	j.Repo, err = filepath.Abs(j.Repo)
	return err
}

// Await waits until jobs are over.
func (f *Fleet) Await(ctx context.Context, ids []string) error {
	for _, id := range ids {
		for {
			r, err := f.Record(ctx, id)
			if err == nil && r.State.Over() || errors.Is(err, ErrNot) { // a schedule has no record
				break
			}
			if err != nil {
				return err
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// Submit queues jobs, and returns their ids. A job whose id the fleet has already is left as it is there.
func (f *Fleet) Submit(ctx context.Context, jobs []Job) (ids []string, err error) {
	known := map[string]bool{}
	for i := range jobs {
		if err := jobs[i].complete(); err != nil {
			return nil, fmt.Errorf("job %d: %w", i+1, err)
		}
		if known[jobs[i].ID] {
			return nil, fmt.Errorf("two jobs have the id %s", jobs[i].ID)
		}
		known[jobs[i].ID] = true
	}
	if err := circle(jobs); err != nil {
		return nil, err
	}
	for part := range slices.Chunk(jobs, mostWrites) {
		if err := f.submitSome(ctx, part); err != nil {
			return ids, err
		}
		for _, j := range part {
			ids = append(ids, j.ID)
		}
	}
	return ids, f.nc.Publish("fleet.wake", nil)
}

// circle refuses jobs that wait for each other.
func circle(jobs []Job) error {
	after := map[string][]string{}
	for _, j := range jobs {
		after[j.ID] = j.After
	}
	const open, closed = 1, 2
	seen := map[string]int{}
	var walk func(id string) error
	walk = func(id string) error {
		switch seen[id] {
		case open:
			return fmt.Errorf("the job %s waits for itself", id)
		case closed:
			return nil
		}
		seen[id] = open
		for _, a := range after[id] {
			if err := walk(a); err != nil {
				return err
			}
		}
		seen[id] = closed
		return nil
	}
	for _, j := range jobs {
		if err := walk(j.ID); err != nil {
			return err
		}
	}
	return nil
}

// submitSome writes up to mostWrites jobs: what they are, their records, and last the queue. A process that dies in
// between leaves records that Mend queues.
func (f *Fleet) submitSome(ctx context.Context, jobs []Job) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	var records []write
	var pending []jetstream.PubAckFuture
	for _, j := range jobs {
		b, err := json.Marshal(j)
		if err != nil {
			return err
		}
		p, err := f.js.PublishAsync(specSubject(j.ID), b, jetstream.WithExpectLastSequencePerSubject(0))
		if err != nil {
			return err
		}
		pending = append(pending, p)
		if j.Schedule != "" {
			continue // its times make jobs
		}
		b, err = json.Marshal(Record{ID: j.ID, Name: j.Name, State: Queued, Priority: j.priority(), Created: now})
		if err != nil {
			return err
		}
		records = append(records, write{subject: stateSubject(j.ID), data: b})
	}
	if err := settled(ctx, pending, true); err != nil {
		return err
	}
	if err := f.records(ctx, records); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.Schedule != "" {
			if err := f.schedule(ctx, j); err != nil {
				return err
			}
		}
	}
	return f.enqueue(ctx, slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return j.Schedule != "" }))
}

// records writes the records of new jobs: all at once, or, if some are known, one by one.
func (f *Fleet) records(ctx context.Context, records []write) error {
	if len(records) == 0 {
		return nil
	}
	err := f.writeAll(ctx, records...)
	if !errors.Is(err, errChanged) {
		return err
	}
	for _, r := range records {
		if err := f.writeAll(ctx, r); err != nil && !errors.Is(err, errChanged) {
			return err
		}
	}
	return nil
}

// enqueue puts jobs into the queue. One that is in it stays.
func (f *Fleet) enqueue(ctx context.Context, jobs []Job) error {
	var pending []jetstream.PubAckFuture
	for _, j := range jobs {
		p, err := f.js.PublishAsync(fmt.Sprintf("fleet.jobs.%d.%s", j.priority(), j.ID), nil)
		if err != nil {
			return err
		}
		pending = append(pending, p)
	}
	return settled(ctx, pending, true)
}

// settled waits for acknowledgements. A message that is there already is no failure.
func settled(ctx context.Context, pending []jetstream.PubAckFuture, repeats bool) error {
	for _, p := range pending {
		select {
		case <-p.Ok():
		case err := <-p.Err():
			if api, ok := errors.AsType[*jetstream.APIError](err); repeats && ok && (api.ErrorCode ==
				jetstream.JSErrCodeStreamWrongLastSequence || strings.Contains(api.Description, "maximum messages per subject")) {
				continue
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Mend puts every job that is not over into the queue, where a client died while it submitted. Jobs that are in the
// queue stay as they are.
func (f *Fleet) Mend(ctx context.Context) error {
	all, err := f.List(ctx)
	if err != nil {
		return err
	}
	var jobs []Job
	for _, r := range all {
		if !r.State.Over() {
			jobs = append(jobs, Job{ID: r.ID, Priority: &r.Priority})
		}
	}
	for part := range slices.Chunk(jobs, mostWrites) {
		if err := f.enqueue(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// Spec reads what was submitted.
func (f *Fleet) Spec(ctx context.Context, id string) (j Job, err error) {
	_, err = f.get(ctx, specStream, specSubject(id), &j)
	return j, err
}

// Record reads where a job is.
func (f *Fleet) Record(ctx context.Context, id string) (r Record, err error) {
	r.seq, err = f.get(ctx, stateStream, stateSubject(id), &r)
	if errors.Is(err, ErrNot) {
		err = fmt.Errorf("%w: %s", ErrNot, id)
	}
	return r, err
}

// List reads all records, in the order of their last change.
func (f *Fleet) List(ctx context.Context) ([]Record, error) {
	s, err := f.js.Stream(ctx, stateStream)
	if err != nil {
		return nil, err
	}
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, FilterSubject: "fleet.state.*", MemoryStorage: true, Replicas: 1,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	n := int(c.CachedInfo().NumPending)
	defer func() { _ = s.DeleteConsumer(context.WithoutCancel(ctx), c.CachedInfo().Name) }() // else it ends by itself
	raw := make([][]byte, 0, n)
	it, err := c.Messages(jetstream.PullMaxMessages(50_000))
	if err != nil {
		return nil, err
	}
	defer it.Stop()
	for len(raw) < n {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		raw = append(raw, m.Data())
		if meta, err := m.Metadata(); err == nil && meta.NumPending == 0 {
			break // some changed in between, and count once
		}
	}
	return decode(raw)
}

// decode reads records on two cores.
func decode(raw [][]byte) ([]Record, error) {
	out := make([]Record, len(raw))
	half := len(raw) / 2
	part := func(from, to int) error {
		for i := from; i < to; i++ {
			if err := json.Unmarshal(raw[i], &out[i]); err != nil {
				return err
			}
		}
		return nil
	}
	first := make(chan error, 1)
	go func() { first <- part(0, half) }()
	return out, errors.Join(part(half, len(raw)), <-first)
}

// Result reads what a job left behind, and checks its signature.
func (f *Fleet) Result(ctx context.Context, id string) (r Result, err error) {
	var s signed
	if _, err := f.get(ctx, stateStream, resultSubject(id), &s); err != nil {
		return r, err
	}
	trusted, err := f.trust(ctx)
	if err != nil {
		return r, err
	}
	b, err := s.open(trusted)
	if err != nil {
		return r, fmt.Errorf("%s: %w", id, err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, err
	}
	if r.Job != id {
		return r, fmt.Errorf("%s: %w", id, ErrForged)
	}
	return r, nil
}

// Cancel ends a job: a running one within a second.
func (f *Fleet) Cancel(ctx context.Context, id, reason string) error {
	for {
		r, err := f.Record(ctx, id)
		if err != nil || r.State.Over() {
			return err
		}
		r.State, r.Reason, r.Ended = Cancelled, reason, time.Now().UTC()
		_, err = f.put(ctx, r)
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil {
			return err
		}
		return f.nc.Publish("fleet.cancel", []byte(id))
	}
}

// Retry queues a job again that failed, was cancelled or is parked. Its old result is gone then.
func (f *Fleet) Retry(ctx context.Context, id string) error {
	r, err := f.Record(ctx, id)
	if err != nil {
		return err
	}
	if r.State == Done || !r.State.Over() {
		return fmt.Errorf("the job %s is %s", id, r.State)
	}
	j, err := f.Spec(ctx, id)
	if err != nil {
		return err
	}
	var old signed
	seq, err := f.get(ctx, stateStream, resultSubject(id), &old)
	if err != nil && !errors.Is(err, ErrNot) {
		return err
	}
	if seq > 0 {
		s, err := f.js.Stream(ctx, stateStream)
		if err != nil {
			return err
		}
		if err := s.Purge(ctx, jetstream.WithPurgeSubject(resultSubject(id))); err != nil {
			return err
		}
	}
	r.State, r.Reason, r.Tries, r.Ended, r.Worker = Queued, "", 0, time.Time{}, ""
	if _, err := f.put(ctx, r); err != nil {
		return err
	}
	if err := f.enqueue(ctx, []Job{j}); err != nil {
		return err
	}
	return f.nc.Publish("fleet.wake", nil)
}

// Drain holds the queue: what runs goes on, nothing else begins until Undrain.
func (f *Fleet) Drain(ctx context.Context) error {
	return f.pause(ctx, time.Now().AddDate(10, 0, 0))
}

// Undrain lets workers take jobs again.
func (f *Fleet) Undrain(ctx context.Context) error {
	return errors.Join(f.pause(ctx, time.Time{}), f.nc.Publish("fleet.wake", nil))
}

func (f *Fleet) pause(ctx context.Context, until time.Time) error {
	for p := range Priorities {
		var err error
		if until.IsZero() {
			_, err = f.js.ResumeConsumer(ctx, queueStream, consumerOf(p))
		} else {
			_, err = f.js.PauseConsumer(ctx, queueStream, consumerOf(p), until)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Follow calls each for every change of a worker's job that is published from now on, until ctx ends.
func (f *Fleet) Follow(ctx context.Context, id string, each func(line []byte)) error {
	s, err := f.nc.SubscribeSync("fleet.events." + id)
	if err != nil {
		return err
	}
	defer func() { _ = s.Unsubscribe() }()
	for {
		m, err := s.NextMsgWithContext(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, nats.ErrSlowConsumer):
		case err != nil:
			return err
		default:
			each(m.Data)
		}
	}
}

// begin writes the record of one job, and queues it.
func (f *Fleet) begin(ctx context.Context, j Job) error {
	b, err := json.Marshal(Record{
		ID: j.ID, Name: j.Name, State: Queued, Priority: j.priority(), Created: time.Now().UTC().Truncate(time.Millisecond),
	})
	if err != nil {
		return err
	}
	if err := f.records(ctx, []write{{subject: stateSubject(j.ID), data: b}}); err != nil {
		return err
	}
	return f.enqueue(ctx, []Job{j})
}
