package bench

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/fleet"
	"github.com/lathe-dev/lathe/internal/llm"
)

// trajectory is a run in the form that leaderboards take: ATIF of Harbor (schema ATIF-v1.4).
type trajectory struct {
	Version string     `json:"schema_version"`
	Session string     `json:"session_id"`
	Agent   atifAgent  `json:"agent"`
	Steps   []atifStep `json:"steps"`
	Final   atifTotals `json:"final_metrics"`
}

type atifAgent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Model   string `json:"model_name,omitempty"`
}

type atifStep struct {
	ID          int          `json:"step_id"` // from 1
	Time        string       `json:"timestamp,omitempty"`
	Source      string       `json:"source"` // user, agent, system
	Message     string       `json:"message"`
	Reasoning   string       `json:"reasoning_content,omitempty"`
	Calls       []atifCall   `json:"tool_calls,omitempty"`
	Observation *atifSeen    `json:"observation,omitempty"`
	Metrics     *atifMetrics `json:"metrics,omitempty"`
}

type atifCall struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
}

type atifSeen struct {
	Results []atifResult `json:"results"`
}

type atifResult struct {
	Call    string `json:"source_call_id,omitempty"`
	Content string `json:"content"`
}

type atifMetrics struct {
	Prompt     int     `json:"prompt_tokens"`
	Completion int     `json:"completion_tokens"`
	Cached     int     `json:"cached_tokens,omitempty"`
	CostUSD    float64 `json:"cost_usd,omitempty"`
}

type atifTotals struct {
	Prompt     int     `json:"total_prompt_tokens"`
	Completion int     `json:"total_completion_tokens"`
	Cached     int     `json:"total_cached_tokens,omitempty"`
	CostUSD    float64 `json:"total_cost_usd"`
	Steps      int     `json:"total_steps"`
}

// writeTrajectory turns the events of a session into a trajectory.
func writeTrajectory(events, to string, out fleet.Outcome) error {
	f, err := os.Open(events)
	if err != nil {
		return err
	}
	defer f.Close()
	t := trajectory{
		Version: "ATIF-v1.4", Session: out.Session, Agent: atifAgent{"lathe", "", out.Model}, Steps: []atifStep{},
		Final: atifTotals{out.Input, out.Output, out.Cached, out.CostUSD, 0},
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		e, err := event.UnmarshalEvent(lines.Bytes())
		if err != nil || e.Session != out.Session || len(e.Agent) > 0 {
			continue // of a subagent, or torn
		}
		if o, ok := e.Body.(event.Opened); ok {
			for _, b := range o.History {
				t.add(b, "")
			}
			continue
		}
		t.add(e.Body, e.Time.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	t.Final.Steps = len(t.Steps)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return writeJSON(to, t)
}

// add takes one event: the parts of a reply become one step, results its observation.
func (t *trajectory) add(b event.Body, at string) {
	switch b := b.(type) {
	case event.UserMessage:
		t.Steps = append(t.Steps, atifStep{ID: len(t.Steps) + 1, Time: at, Source: "user", Message: texts(b.Message.Parts)})
	case event.PartDone:
		t.part(b, at)
	case event.ToolEnd:
		if s := t.withCall(b.Call.ID); s != nil {
			if s.Observation == nil {
				s.Observation = &atifSeen{}
			}
			s.Observation.Results = append(s.Observation.Results, atifResult{b.Call.ID, texts(b.Result.Parts)})
		}
	case event.StepEnd:
		if n := len(t.Steps); n > 0 && t.Steps[n-1].Source == "agent" {
			t.Steps[n-1].Metrics = &atifMetrics{b.Usage.Prompt(), b.Usage.Output, b.Usage.CacheRead, b.CostUSD}
		}
	}
}

func (t *trajectory) part(b event.PartDone, at string) {
	if n := len(t.Steps); n == 0 || t.Steps[n-1].Source != "agent" || t.Steps[n-1].Observation != nil || b.Index == 0 {
		t.Steps = append(t.Steps, atifStep{ID: n + 1, Time: at, Source: "agent"})
	}
	s := &t.Steps[len(t.Steps)-1]
	switch p := b.Part.(type) {
	case llm.Text:
		s.Message += p.Text
	case llm.Reasoning:
		s.Reasoning += p.Text
	case llm.ToolCall:
		s.Calls = append(s.Calls, atifCall{p.ID, p.Name, p.Input})
	}
}

func (t *trajectory) withCall(id string) *atifStep {
	for i := len(t.Steps) - 1; i >= 0; i-- {
		for _, c := range t.Steps[i].Calls {
			if c.ID == id {
				return &t.Steps[i]
			}
		}
	}
	return nil
}

func texts(parts []llm.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}
