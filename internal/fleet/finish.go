package fleet

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// finish writes the result of a job and its record in one step. If the job is another worker's by now, nothing is
// written and the files are removed.
func (w *Worker) finish(ctx context.Context, t *Task, state State, reason string, out Outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	res := Result{
		Job: t.Job.ID, Run: t.Record.Run, Worker: w.ID, State: state, Reason: reason, Started: t.Record.Started,
		Ended: time.Now().UTC(), Outcome: out,
	}
	var err error
	for _, f := range []struct {
		name, path string
		to         **Blob
	}{
		{"log", out.Files.Log, &res.Log},
		{"transcript", out.Files.Transcript, &res.Transcript},
		{"patch", out.Files.Patch, &res.Patch},
	} {
		if *f.to, err = w.Fleet.upload(ctx, t.Job.ID+"/"+t.Record.Run+"/"+f.name, f.path); err != nil {
			return err
		}
	}
	err = w.commit(ctx, t.Record, res)
	if errors.Is(err, errChanged) {
		return w.Fleet.discard(ctx, res)
	}
	if err == nil {
		w.Log("%s: %s %s", t.Job.ID, state, reason)
	}
	return err
}

// commit writes result and record after the record that was claimed. A job that was cancelled meanwhile keeps that.
func (w *Worker) commit(ctx context.Context, r Record, res Result) error {
	for {
		if res.State == Cancelled {
			now, err := w.Fleet.Record(ctx, r.ID)
			if err != nil {
				return err
			}
			if now.Run != r.Run || now.State != Cancelled {
				return errChanged
			}
			r, res.Reason = now, now.Reason
		}
		r.State, r.Reason, r.Ended, r.CostUSD, r.Session = res.State, res.Reason, res.Ended, res.CostUSD, res.Session
		err := w.write(ctx, r, res)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errChanged) && !passing(err) {
			return err
		}
		now, readErr := w.Fleet.Record(ctx, r.ID)
		switch {
		case readErr == nil && now.Run == r.Run && now.State == res.State && now.Ended.Equal(res.Ended):
			return nil // it was written, and the answer lost
		case readErr == nil && now.Run == r.Run && now.State == Cancelled && res.State != Cancelled:
			res.State, res.Reason = Cancelled, now.Reason
		case readErr == nil && now.seq != r.seq:
			return errChanged
		case ctx.Err() != nil:
			return fmt.Errorf("the result could not be written: %w", err)
		}
	}
}

func (w *Worker) write(ctx context.Context, r Record, res Result) error {
	b, err := json.Marshal(res)
	if err != nil {
		return err
	}
	if b, err = w.Fleet.keys.seal(b); err != nil {
		return err
	}
	record, err := json.Marshal(r)
	if err != nil {
		return err
	}
	once, end := context.WithTimeout(ctx, 5*time.Second)
	defer end()
	return w.Fleet.writeAll(once, write{resultSubject(r.ID), b, 0}, write{stateSubject(r.ID), record, r.seq})
}

// upload stores a file. One that is empty or missing is none.
func (f *Fleet) upload(ctx context.Context, name, path string) (*Blob, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() == 0 {
		return nil, err
	}
	for {
		info, err := f.blobs.Put(ctx, jetstream.ObjectMeta{Name: name}, file)
		if err == nil {
			sum, err := jetstream.DecodeObjectDigest(info.Digest)
			return &Blob{name, info.Size, hex.EncodeToString(sum)}, err
		}
		if !passing(err) || ctx.Err() != nil {
			return nil, fmt.Errorf("%s cannot be stored: %w", name, err)
		}
		if _, err := file.Seek(0, 0); err != nil {
			return nil, err
		}
	}
}

// discard removes the files of a try that lost its job.
func (f *Fleet) discard(ctx context.Context, res Result) error {
	var errs []error
	for _, b := range []*Blob{res.Log, res.Transcript, res.Patch} {
		if b != nil {
			errs = append(errs, f.blobs.Delete(ctx, b.Name))
		}
	}
	return errors.Join(errs...)
}

// Blob reads a file of a result. Its sum is the one that the worker signed.
func (f *Fleet) Blob(ctx context.Context, b *Blob) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	data, err := f.blobs.GetBytes(ctx, b.Name)
	if err != nil {
		return nil, err
	}
	if got := sum(data); !strings.EqualFold(got, b.SHA256) {
		return nil, fmt.Errorf("%s: %w", b.Name, ErrForged)
	}
	return data, nil
}
