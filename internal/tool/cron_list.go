package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/store/schedule"
)

//go:embed cron_list.md
var cronListDescription string

var cronListTool = call.Declaration{
	Name: CronListName, Schema: json.RawMessage(`{"type":"object","properties":{}}`),
	Class: permission.ClassNeutral, Deferred: true,
	Accesses: call.Session(CronListName),
}

func newCronList(all *schedule.Store) agent.Tool {
	return newTool(cronListTool, cronListDescription, func(context.Context, llm.ToolCall, struct{}) (*agent.Plan, error) {
		if all == nil {
			return nil, errNoSchedules
		}
		return &agent.Plan{
			Accesses: call.SessionOnly(CronListName), Title: "schedules",
			Run: func(context.Context) (*agent.Result, error) { return listSchedules(all) },
		}, nil
	})
}

func listSchedules(all *schedule.Store) (*agent.Result, error) {
	found, err := all.List()
	if err != nil {
		return nil, err
	}
	items, jobs := []string{}, []map[string]any{}
	for _, x := range found {
		items = append(items, fmt.Sprintf("%s: %s: %s", x.ID, scheduleLine(x), x.Prompt))
		jobs = append(jobs, map[string]any{
			"id": x.ID, "cron": x.Cron, "humanSchedule": x.When(), "prompt": x.Prompt, "recurring": x.Cron != "" && !x.Once,
		})
	}
	text := strings.Join(items, "\n")
	if len(items) == 0 {
		text = "Nothing is scheduled."
	}
	r := agent.TextResult(text)
	r.Title = "schedules"
	r.View, r.Meta = event.Listing{Title: r.Title, Items: items, Total: len(items)}, map[string]any{"jobs": jobs}
	return r, nil
}
