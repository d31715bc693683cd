package tool

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed push.md
var pushDescription string

type pushInput struct {
	Message string `json:"message" jsonschema:"one line for the user" limits:"minLength=1"`
}

// PushName is the tool that notifies the user.
const PushName = "PushNotification"

// Its text goes to the user's own service alone, so a call does not ask.
var pushTool = call.Declaration{
	Name: PushName, Input: schemaOf[pushInput](), Params: map[string]string{"message": "text body notification"},
	Ignored: "title status", Deferred: true, Accesses: call.Session(PushName),
}

func newPush(push func(ctx context.Context, text string) error) agent.Tool {
	return newTool(pushTool, pushDescription, func(_ context.Context, _ llm.ToolCall, in pushInput) (*agent.Plan, error) {
		text := strings.Join(strings.Fields(in.Message), " ")
		if text == "" {
			return nil, errors.New("the message is empty; write what the user should know")
		}
		return &agent.Plan{
			Accesses: call.SessionOnly(PushName), Title: text,
			Run: func(ctx context.Context) (*agent.Result, error) {
				if push == nil {
					return nil, errors.New("the user set up no service for notifications")
				}
				if err := push(ctx, text); err != nil {
					return nil, err
				}
				return told("to the user", "The user was notified.", text), nil
			},
		}, nil
	})
}
