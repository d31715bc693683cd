package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// schedule has the engine make a message at each time of a job's schedule.
func (f *Fleet) schedule(ctx context.Context, j Job) error {
	m := nats.NewMsg("fleet.time." + j.ID)
	m.Header.Set("Nats-Schedule", pattern(j.Schedule))
	m.Header.Set("Nats-Schedule-Target", "fleet.due."+j.ID)
	m.Data = []byte(j.ID)
	_, err := f.js.PublishMsg(ctx, m)
	return err
}

// pattern is a rule as the engine reads it: with a field for seconds.
func pattern(rule string) string {
	if strings.HasPrefix(rule, "@") {
		return rule
	}
	return "0 " + rule
}

// Unschedule ends a schedule. Jobs that it made stay.
func (f *Fleet) Unschedule(ctx context.Context, id string) error {
	s, err := f.js.Stream(ctx, timeStream)
	if err != nil {
		return err
	}
	m, err := s.GetLastMsgForSubject(ctx, "fleet.time."+id)
	if err != nil {
		return fmt.Errorf("the job %s has no schedule: %w", id, err)
	}
	return s.DeleteMsg(ctx, m.Sequence)
}

// takeDue makes jobs of the schedules that are due.
func (w *Worker) takeDue(ctx context.Context) {
	batch, err := w.due.FetchNoWait(10)
	if err != nil {
		return // the queue says so
	}
	for m := range batch.Messages() {
		id := strings.TrimPrefix(m.Subject(), "fleet.due.")
		meta, err := m.Metadata()
		if err == nil {
			err = w.make(ctx, id, meta.Timestamp)
		}
		if err != nil {
			w.Log("%s is due: %v", id, err)
			continue // its lease ends, and it comes again
		}
		_ = m.Ack() // else it comes again, and its job is known
	}
}

// make submits the job of a schedule for one of its times.
func (w *Worker) make(ctx context.Context, id string, at time.Time) error {
	j, err := w.Fleet.Spec(ctx, id)
	if err != nil {
		return err
	}
	j.ID, j.Schedule = fmt.Sprintf("%s-%s", id, at.UTC().Format("20060102T150405")), ""
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	m := nats.NewMsg(specSubject(j.ID))
	m.Data = b
	if _, err := w.Fleet.js.PublishMsg(ctx, m); err != nil {
		return err
	}
	return w.Fleet.begin(ctx, j)
}
