package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed question.md
var questionDescription string

const questionSchema = `{"type":"object","properties":{"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","properties":{` +
	`"question":{"type":"string"},` +
	`"header":{"type":"string","description":"A word or two, 12 characters at most"},` +
	`"multiSelect":{"type":"boolean"},` +
	`"options":{"type":"array","minItems":2,"items":{"type":"object","properties":{` +
	`"label":{"type":"string","description":"1 to 5 words"},` +
	`"description":{"type":"string"},` +
	`"preview":{"type":"string","description":"Markdown to compare: code, a sketch"}},` +
	`"required":["label"]}}},` +
	`"required":["question","options"]}},` +
	`"answers":{"type":"object","description":"Filled in by the user"}},` +
	`"required":["questions"]}`

// Asking touches nothing; approval puts the questions to the user.
var questionTool = call.Declaration{
	Name: consult.QuestionName, Aliases: []string{"Question", "ask_user", "ask", "ask_question", "ask_followup_question"},
	Schema:  json.RawMessage(questionSchema),
	Ignored: "metadata annotations", Mend: mendQuestion,
	Class: permission.ClassNeutral, Accesses: call.Session(consult.QuestionName),
}

func newQuestion() agent.Tool {
	return newTool(questionTool, questionDescription, func(_ context.Context, _ llm.ToolCall, in consult.Questions) (
		*agent.Plan, error,
	) {
		if err := in.Check(); err != nil {
			return nil, err
		}
		return &agent.Plan{
			Accesses: call.SessionOnly(consult.QuestionName), Title: in.Title(),
			Run: func(context.Context) (*agent.Result, error) {
				if len(in.Answers) == 0 {
					return nil, errors.New("the user did not answer; decide by yourself and say how, or stop and leave the " +
						"question open")
				}
				return in.Result(), nil
			},
		}, nil
	})
}
