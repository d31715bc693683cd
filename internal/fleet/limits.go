package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Limits hold for all workers together. Each may go over them by the request that it has begun.
type Limits struct {
	BudgetUSD float64        `json:"budget_usd,omitempty"` // 0: none
	PerMinute map[string]int `json:"per_minute,omitempty"` // requests by model; "*" for each other one
}

// SetLimits changes the limits.
func (f *Fleet) SetLimits(ctx context.Context, l Limits) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = f.js.Publish(ctx, "fleet.limits", b)
	return err
}

// Limits reads the limits.
func (f *Fleet) Limits(ctx context.Context) (l Limits, err error) {
	_, err = f.get(ctx, stateStream, "fleet.limits", &l)
	if errors.Is(err, ErrNot) {
		err = nil
	}
	return l, err
}

const microUSD = 1e6

// add increments a counter and returns its value.
func (f *Fleet) add(ctx context.Context, subject string, n int64) (int64, error) {
	m := nats.NewMsg(subject)
	m.Header.Set("Nats-Incr", strconv.FormatInt(n, 10))
	ack, err := f.js.PublishMsg(ctx, m)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(ack.Value, 10, 64)
}

// counter reads a counter.
func (f *Fleet) counter(ctx context.Context, subject string) (int64, error) {
	m, err := f.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+countStream+"."+subject, nil)
	if err != nil {
		return 0, err
	}
	if m.Header.Get("Status") == "404" {
		return 0, nil
	}
	var v struct {
		Val string `json:"val"`
	}
	if err := json.Unmarshal(m.Data, &v); err != nil {
		return 0, err
	}
	return strconv.ParseInt(v.Val, 10, 64)
}

// Spent is what all jobs cost together, in dollars.
func (f *Fleet) Spent(ctx context.Context) (float64, error) {
	n, err := f.counter(ctx, "fleet.spent")
	return float64(n) / microUSD, err
}

func rateSubject(model string, now time.Time) string {
	token := strings.Map(func(r rune) rune {
		if r > ' ' && r < 127 && !strings.ContainsRune(".*>", r) {
			return r
		}
		return '_'
	}, model)
	if token == "" {
		token = "_"
	}
	return fmt.Sprintf("fleet.rate.%s.%d", token, now.Unix()/60)
}

func (l Limits) perMinute(model string) int {
	if n, ok := l.PerMinute[model]; ok {
		return n
	}
	return l.PerMinute["*"]
}

// errBudget ends a job since the money of the fleet is spent.
var errBudget = errors.New("the fleet's budget is spent; lathe fleet limits raises it")

// overLimit says how long to wait before a job may begin.
func (f *Fleet) overLimit(ctx context.Context, l Limits, model string) (time.Duration, error) {
	if l.BudgetUSD > 0 {
		spent, err := f.Spent(ctx)
		if err != nil {
			return 0, err
		}
		if spent >= l.BudgetUSD {
			return 10 * time.Second, nil
		}
	}
	if n := l.perMinute(model); n > 0 {
		now := time.Now()
		count, err := f.counter(ctx, rateSubject(model, now))
		if err != nil || count < int64(n) {
			return 0, err
		}
		return untilMinute(now), nil
	}
	return 0, nil
}

func untilMinute(now time.Time) time.Duration {
	return now.Truncate(time.Minute).Add(time.Minute).Sub(now)
}

// Request counts a request to a model, and says how long the next one has to wait.
func (t *Task) Request(ctx context.Context, model string) (time.Duration, error) {
	n := t.limits.perMinute(model)
	if n == 0 {
		return 0, nil
	}
	now := time.Now()
	count, err := t.worker.Fleet.add(ctx, rateSubject(model, now), 1)
	if err != nil || count <= int64(n) {
		return 0, err
	}
	return untilMinute(now), nil
}

// Spent counts money, and fails when the fleet's is spent.
func (t *Task) Spent(ctx context.Context, usd float64) error {
	if usd <= 0 {
		return nil
	}
	total, err := t.worker.Fleet.add(ctx, "fleet.spent", int64(math.Round(usd*microUSD)))
	if err != nil {
		return err
	}
	if l := t.limits.BudgetUSD; l > 0 && float64(total)/microUSD >= l {
		return errBudget
	}
	return nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
