package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Stats is the fleet at a glance.
type Stats struct {
	At       time.Time     `json:"at"`
	Jobs     map[State]int `json:"jobs"`
	Waiting  int           `json:"waiting"` // in the queue, running ones among them
	Workers  []presence    `json:"workers"`
	Slots    int           `json:"slots"`
	SpentUSD float64       `json:"spent_usd"`
	// PerMinute is the number of jobs that ended within the last minute.
	PerMinute int            `json:"per_minute"`
	Causes    map[string]int `json:"causes"` // of failed and parked jobs
	Drained   bool           `json:"drained"`
	Limits    Limits         `json:"limits"`
}

// mostCauses is how many causes are told apart.
const mostCauses = 20

// Stats counts.
func (f *Fleet) Stats(ctx context.Context) (s Stats, err error) {
	s = Stats{At: time.Now().UTC(), Jobs: map[State]int{}, Causes: map[string]int{}}
	all, err := f.List(ctx)
	if err != nil {
		return s, err
	}
	for _, r := range all {
		s.Jobs[r.State]++
		if !r.Ended.IsZero() && time.Since(r.Ended) < time.Minute {
			s.PerMinute++
		}
		if r.State == Failed || r.State == Parked {
			cause, _, _ := strings.Cut(r.Reason, "\n")
			if len(s.Causes) >= mostCauses && s.Causes[cause] == 0 {
				cause = "others"
			}
			s.Causes[cause]++
		}
	}
	if s.Workers, err = f.workers(ctx); err != nil {
		return s, err
	}
	for _, w := range s.Workers {
		s.Slots += w.Slots
	}
	if s.SpentUSD, err = f.Spent(ctx); err != nil {
		return s, err
	}
	if s.Limits, err = f.Limits(ctx); err != nil {
		return s, err
	}
	queue, err := f.js.Stream(ctx, queueStream)
	if err != nil {
		return s, err
	}
	s.Waiting = int(queue.CachedInfo().State.Msgs)
	c, err := queue.Consumer(ctx, consumerOf(defaultPriority))
	if err == nil {
		s.Drained = c.CachedInfo().Paused
	}
	return s, err
}

// workers lists those that were there within presentFor.
func (f *Fleet) workers(ctx context.Context) (out []presence, err error) {
	s, err := f.js.Stream(ctx, hereStream)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter("fleet.worker.*"))
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		var p presence
		if _, err := f.get(ctx, hereStream, subject, &p); err == nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b presence) int { return strings.Compare(a.Host+a.ID, b.Host+b.ID) })
	return out, nil
}
