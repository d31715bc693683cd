package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/cost"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// causes say what the requests of a session were for.
type causes struct {
	agent string // the kind of the agent whose session it is
	times []time.Time
	names []string // from the time with the same index on
}

// you is the cause of requests that a prompt of the user led to.
const you = "you"

// causesOf reads what the turns of a session were for: a skill from its call on, an MCP server for the request
// with its results, a schedule that sent the prompt.
func causesOf(log *session.Session) causes {
	c := causes{agent: log.Info().Agent}
	all := log.Everything().Only("user", "part", "call_end", "reply")
	turn, server := you, ""
	for _, e := range all.Entries(0, all.Len()) {
		switch b := e.Body.(type) {
		case session.User:
			if b.Synthetic {
				continue
			}
			turn = causeOf(b.Message)
		case session.Part:
			if call, ok := b.Part.(llm.ToolCall); ok && call.Name == "Skill" {
				turn = "skill " + skillOf(call.Input)
			}
		case session.CallEnd:
			if name, ok := strings.CutPrefix(b.Result.Name, "mcp__"); ok {
				server, _, _ = strings.Cut(name, "__")
			}
			continue
		}
		name := turn
		if server != "" {
			name = "server " + server
		}
		c.times, c.names = append(c.times, e.Time), append(c.names, name)
		if _, ok := e.Body.(session.Reply); ok {
			server = ""
		}
	}
	return c
}

var skillName = regexp.MustCompile(`<skill[^>]* name="([^"]+)"`)

func causeOf(m llm.Message) string {
	if strings.HasPrefix(m.ID, "schedule-") {
		return "schedule"
	}
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginSkill {
			if found := skillName.FindStringSubmatch(t.Text); found != nil {
				return "skill " + found[1]
			}
		}
	}
	return you
}

// of is the cause of a request.
func (c causes) of(step cost.Step) string {
	switch {
	case step.Purpose != "":
		return step.Purpose
	case c.agent != "":
		return "agent " + c.agent
	}
	i, found := slices.BinarySearchFunc(c.times, step.Time, time.Time.Compare)
	if !found {
		i--
	}
	if i < 0 {
		return you
	}
	return c.names[i]
}

func skillOf(input []byte) string {
	var in struct{ Skill, Name string }
	_ = json.Unmarshal(input, &in) // a call that cannot be read has no name
	return in.Skill + in.Name
}
