package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
)

// tickEvery is how often the host looks at sessions that it does not follow, and at questions that wait.
const tickEvery = 5 * time.Second

// keepTime looks after what happens without a message: schedules, questions that wait too long, processes that grow.
func (h *Host) keepTime(ctx context.Context) {
	defer h.ended("tick")
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.tick(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (h *Host) tick(ctx context.Context) {
	h.mu.Lock()
	talks := slices.Collect(maps.Values(h.j.Talks))
	var late []*asked
	for _, a := range h.j.Asked {
		if time.Now().After(a.Until) {
			late = append(late, a.copy())
		}
	}
	h.mu.Unlock()
	for _, a := range late {
		h.expire(ctx, a)
	}
	for _, t := range talks {
		if t.Job == "" {
			continue
		}
		j, err := h.o.Place.Read(t.Job)
		if err != nil || !j.Live() {
			continue
		}
		if j.Changed.After(t.At) {
			h.mu.Lock()
			h.attend(ctx, t.ID)
			h.mu.Unlock()
		}
		h.confine(ctx, *t, j)
	}
}

// expire refuses a question that nobody answered, and says so.
func (h *Host) expire(ctx context.Context, a *asked) {
	d := h.door("")
	d.Face.Answers = ""
	h.mu.Lock()
	t := h.j.Talks[a.Talk]
	h.mu.Unlock()
	if t == nil {
		return
	}
	c, err := d.Dial(ctx, t.Job)
	if err == nil {
		answer := event.Answer{Choice: event.ChoiceNo, Text: "Nobody answered in time."}
		if !decides(a.Question) {
			answer = event.Answer{Canceled: true}
		}
		err = c.Answer(ctx, port.Answer{Session: a.Session, ID: a.ID, Answer: answer})
		_ = c.Close()
	}
	if err != nil {
		h.o.Log.Info("a late question was not refused", "question", a.ID, "error", err)
	}
	_ = h.closeQuestion(ctx, a.ID, inTime)
}

// confine ends a process that takes too much memory.
func (h *Host) confine(ctx context.Context, t talk, j supervisor.Job) {
	if h.o.MaxMemoryMB <= 0 || h.o.Memory == nil || h.o.Memory(j.PID) <= int64(h.o.MaxMemoryMB)<<20 {
		return
	}
	c, err := h.door("").Supervisor(ctx)
	if err != nil {
		return
	}
	defer c.Close()
	if _, err := c.Stop(ctx, j.ID); err == nil {
		h.post(ctx, fmt.Sprintf("memory:%s:%d", t.ID, time.Now().Unix()), Message{Place: h.place(t), Text: fmt.Sprintf(
			"The session took more than %d MB and was ended. A message goes on with it.", h.o.MaxMemoryMB)})
	}
}

// partText is what people see of a part of a reply.
func partText(p event.PartDone) string {
	if text, ok := p.ForPeople().Part.(llm.Text); ok {
		return strings.TrimSpace(text.Text)
	}
	return ""
}
