package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/store/schedule"
)

//go:embed cron_create.md
var cronCreateDescription string

type cronCreateInput struct {
	Cron      string `json:"cron"`
	Prompt    string `json:"prompt"`
	Recurring *bool  `json:"recurring,omitempty" jsonschema:"Default true; false: only the next time"`
}

// Tools of schedules, whose prompts run in this session, by its rules: nothing outside of it is touched.
const (
	CronCreateName     = "CronCreate"
	CronListName       = "CronList"
	CronDeleteName     = "CronDelete"
	ScheduleWakeupName = "ScheduleWakeup"
)

var cronCreateTool = call.Declaration{
	Name: CronCreateName, Input: schemaOf[cronCreateInput](),
	Params: map[string]string{"cron": "schedule expression", "prompt": "message task"}, Ignored: "durable",
	Class: permission.ClassNeutral, Deferred: true, Accesses: call.Session(CronCreateName),
}

// errNoSchedules is returned where a session has no schedules.
var errNoSchedules = errors.New("nothing can be scheduled in this session: it ends with its answer, or is a subagent's")

func newCronCreate(all *schedule.Store) agent.Tool {
	return newTool(cronCreateTool, cronCreateDescription, func(_ context.Context, _ llm.ToolCall, in cronCreateInput) (
		*agent.Plan, error,
	) {
		if all == nil {
			return nil, errNoSchedules
		}
		if _, err := schedule.Parse(in.Cron); err != nil {
			return nil, err
		}
		x := schedule.Schedule{Cron: in.Cron, Prompt: in.Prompt, Once: in.Recurring != nil && !*in.Recurring}
		return &agent.Plan{
			Accesses: call.SessionOnly(CronCreateName), Title: strings.TrimSpace(in.Cron + " " + in.Prompt),
			Run: func(context.Context) (*agent.Result, error) {
				if !x.Once {
					x.Expires = time.Now().Add(schedule.Lifetime)
				}
				made, err := all.Add(x)
				if err != nil {
					return nil, err
				}
				return scheduleResult("Scheduled "+made.ID, made), nil
			},
		}, nil
	})
}

// scheduleResult describes one schedule.
func scheduleResult(head string, x schedule.Schedule) *agent.Result {
	line := scheduleLine(x)
	r := agent.TextResult(head + ": " + line + ". It runs between turns.")
	r.Title, r.View = head, event.TextView{Text: x.Prompt, Summary: line}
	r.Meta = map[string]any{"id": x.ID, "humanSchedule": x.When(), "recurring": x.Cron != "" && !x.Once}
	return r
}

func scheduleLine(x schedule.Schedule) string {
	line := fmt.Sprintf("%s, next %s", x.When(), x.Due.Local().Format("Mon 2006-01-02 15:04"))
	if !x.Expires.IsZero() {
		line += ", ends " + x.Expires.Local().Format(time.DateOnly)
	}
	return line
}
