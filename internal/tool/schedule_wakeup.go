package tool

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/store/schedule"
)

//go:embed schedule_wakeup.md
var scheduleWakeupDescription string

type scheduleWakeupInput struct {
	Delay  int64  `json:"delay,omitempty" jsonschema:"Seconds, 60 to 3600"`
	Reason string `json:"reason,omitempty" jsonschema:"Why then, in one line for the user"`
	Prompt string `json:"prompt,omitempty" jsonschema:"Outside of a loop: what to send"`
	Stop   bool   `json:"stop,omitempty" jsonschema:"End the loop"`
}

var scheduleWakeupTool = call.Declaration{
	Name: ScheduleWakeupName, Input: schemaOf[scheduleWakeupInput](),
	Params: map[string]string{"delay": "delay_seconds seconds"}, Class: permission.ClassNeutral, Deferred: true,
	Accesses: call.Session(ScheduleWakeupName),
}

func newScheduleWakeup(all *schedule.Store) agent.Tool {
	return newTool(scheduleWakeupTool, scheduleWakeupDescription, func(_ context.Context, _ llm.ToolCall,
		in scheduleWakeupInput,
	) (*agent.Plan, error) {
		switch {
		case all == nil:
			return nil, errNoSchedules
		case !in.Stop && in.Delay <= 0:
			return nil, errors.New("say in how many seconds to wake up (delay, 60 to 3600), or stop the loop (stop)")
		}
		return &agent.Plan{
			Accesses: call.SessionOnly(ScheduleWakeupName), Title: "wake-up " + in.Reason,
			Run: func(context.Context) (*agent.Result, error) { return in.run(all) },
		}, nil
	})
}

// run sets when the loop of the session goes on, which has one at most, or plans one wake-up.
func (in scheduleWakeupInput) run(all *schedule.Store) (*agent.Result, error) {
	found, err := all.List()
	if err != nil {
		return nil, err
	}
	due := time.Now().Add(min(max(time.Duration(in.Delay)*time.Second, schedule.Fastest), schedule.Slowest))
	i := slices.IndexFunc(found, func(x schedule.Schedule) bool { return x.Paced })
	switch {
	case i < 0 && in.Stop:
		return nil, errors.New("no loop runs at your pace; CronList shows what is scheduled, and CronDelete removes it")
	case i < 0:
		x, err := all.Add(schedule.Schedule{Prompt: in.Prompt, Due: due, Reason: in.Reason})
		if err != nil {
			return nil, err
		}
		return scheduleResult("Scheduled "+x.ID, x), nil
	case in.Stop:
		x, err := all.Remove(found[i].ID)
		if err != nil {
			return nil, err
		}
		r := agent.TextResult("The loop has ended.")
		r.Title, r.View = "loop ended", event.TextView{Text: x.Prompt, Summary: in.Reason}
		r.Meta = map[string]any{"id": x.ID, "stopped": true}
		return r, nil
	}
	x, err := all.Change(found[i].ID, func(x *schedule.Schedule) bool {
		x.Due, x.Planned, x.Reason = due, true, in.Reason
		return true
	})
	if err != nil {
		return nil, err
	}
	return scheduleResult("Planned "+x.ID, x), nil
}
