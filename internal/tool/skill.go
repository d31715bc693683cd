package tool

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed skill.md
var skillDescription string

type skillInput struct {
	Skill string `json:"skill" jsonschema:"The name as listed" limits:"minLength=1"`
	Args  string `json:"args,omitempty" jsonschema:"Arguments, as after /name"`
}

// SkillName is the tool that loads skills.
const SkillName = "Skill"

// Loading a skill puts a text into the conversation, or starts an agent with a call of Task. The calls that follow ask
// for themselves.
var skillTool = call.Declaration{
	Name:      SkillName,
	Aliases:   []string{"use_skill", "load_skill", "activate_skill"},
	Input:     schemaOf[skillInput](),
	Params:    map[string]string{"skill": "name command skill_name", "args": "arguments"},
	Subject:   permission.SubjectName,
	SubjectIn: []string{"skill", "name", "command"},
	Rest:      "args",
	Class:     permission.ClassNeutral,
	Accesses:  call.Session(SkillName),
}

func newSkill(load func(ctx context.Context, name, args string) ([]llm.Part, error)) agent.Tool {
	return newTool(skillTool, skillDescription, func(_ context.Context, _ llm.ToolCall, in skillInput) (*agent.Plan,
		error,
	) {
		name := strings.TrimPrefix(strings.TrimSpace(in.Skill), "/")
		return &agent.Plan{
			Accesses: call.SessionOnly(SkillName),
			Title:    strings.TrimSpace(name + " " + in.Args),
			Run: func(ctx context.Context) (*agent.Result, error) {
				if load == nil {
					return nil, errors.New("there are no skills in this session; do the work with the other tools")
				}
				parts, err := load(ctx, name, in.Args)
				if err != nil {
					return nil, err
				}
				summary := "loaded"
				if t, ok := parts[0].(llm.Text); ok && t.Origin != llm.OriginSkill {
					summary = "done by an agent"
				}
				return &agent.Result{
					Parts: parts, Title: name, View: event.TextView{Text: llm.Message{Parts: parts}.PlainText(), Summary: summary},
					Meta: map[string]any{"success": true, "commandName": name},
				}, nil
			},
		}, nil
	})
}
