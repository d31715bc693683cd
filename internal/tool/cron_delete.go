package tool

import (
	"context"
	_ "embed"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/store/schedule"
)

//go:embed cron_delete.md
var cronDeleteDescription string

type cronDeleteInput struct {
	ID string `json:"id"`
}

var cronDeleteTool = call.Declaration{
	Name: CronDeleteName, Input: schemaOf[cronDeleteInput](), Params: map[string]string{"id": "job_id schedule_id"},
	Class: permission.ClassNeutral, Deferred: true, Accesses: call.Session(CronDeleteName),
}

func newCronDelete(all *schedule.Store) agent.Tool {
	return newTool(cronDeleteTool, cronDeleteDescription, func(_ context.Context, _ llm.ToolCall, in cronDeleteInput) (
		*agent.Plan, error,
	) {
		if all == nil {
			return nil, errNoSchedules
		}
		return &agent.Plan{
			Accesses: call.SessionOnly(CronDeleteName), Title: "schedule " + in.ID,
			Run: func(context.Context) (*agent.Result, error) {
				x, err := all.Remove(strings.TrimSpace(in.ID))
				if err != nil {
					return nil, err
				}
				r := agent.TextResult("Removed schedule " + x.ID + ".")
				r.Title, r.View = "removed "+x.ID, event.TextView{Text: x.Prompt, Summary: x.When()}
				r.Meta = map[string]any{"id": x.ID}
				return r, nil
			},
		}, nil
	})
}
