package event

import (
	"fmt"
	"strings"
)

// EvalStart begins a round of the eval gate.
type EvalStart struct {
	Round   int    `json:"round"` // from 1
	Judges  int    `json:"judge_count"`
	Command string `json:"command,omitempty"` // the check command that runs first; empty: none
}

// Verdict is one judge's opinion of the work. The names of its first fields are those of the judge's JSON answer.
type Verdict struct {
	Judge       string   `json:"judgeName"`
	Complete    bool     `json:"isComplete"`
	Reasoning   string   `json:"reasoning"`
	Suggestions []string `json:"refinementSuggestions,omitempty"`
	Weight      float64  `json:"weight,omitempty"` // 0: 1
	Absent      string   `json:"absent,omitempty"` // why there is no verdict, which then does not count
}

// EvalVerdict is the verdict of one judge, in the order in which the judges answer.
type EvalVerdict struct {
	Round   int     `json:"round"`
	Verdict Verdict `json:"verdict"`
}

// EvalCheck is the outcome of the project's check command.
type EvalCheck struct {
	Command string `json:"command"`
	Failed  bool   `json:"failed"`            // it ended with a failure: the work is not accepted, whatever the judges say
	NotRun  string `json:"not_run,omitempty"` // why it did not run, which is no failure
	Output  string `json:"output,omitempty"`  // its end
}

// EvalComplete ends a round of the eval gate.
type EvalComplete struct {
	Passed     bool       `json:"passed"`
	Round      int        `json:"round"`
	Last       bool       `json:"last,omitempty"`             // no round follows, although it did not pass
	Unverified string     `json:"unverified,omitempty"`       // why no one judged the work, which is then accepted
	Refinement string     `json:"refinementPrompt,omitempty"` // the message that sends the model back to work
	Verdicts   []Verdict  `json:"verdicts,omitempty"`
	Check      *EvalCheck `json:"check,omitempty"`
}

// Kind names.
func (EvalStart) Kind() string    { return "eval_start" }
func (EvalVerdict) Kind() string  { return "eval_judge_verdict" }
func (EvalComplete) Kind() string { return "eval_complete" }

// Level is the level of a notice that shows it.
func (e EvalComplete) Level() string {
	if e.Passed && e.Unverified == "" {
		return "info"
	}
	return "warning"
}

// String returns one line for people.
func (e EvalComplete) String() string {
	var parts []string
	for _, v := range e.Verdicts {
		parts = append(parts, v.String())
	}
	if e.Check != nil {
		parts = append(parts, e.Check.String())
	}
	head := fmt.Sprintf("Eval round %d: ", e.Round)
	switch {
	case e.Unverified != "":
		return head + "accepted without a verdict: " + e.Unverified
	case e.Passed:
		head += "accepted"
	case e.Last:
		head += "not accepted, and it was the last round"
	default:
		head += "not accepted, the work goes on"
	}
	if len(parts) > 0 {
		head += " (" + strings.Join(parts, "; ") + ")"
	}
	return head
}

// String returns a few words for people.
func (v Verdict) String() string {
	switch {
	case v.Absent != "":
		return v.Judge + ": no verdict"
	case v.Complete:
		return v.Judge + ": complete"
	}
	return v.Judge + ": " + firstSentence(v.Reasoning)
}

// String returns a few words for people.
func (c EvalCheck) String() string {
	switch {
	case c.NotRun != "":
		return c.Command + " did not run"
	case c.Failed:
		return c.Command + " failed"
	}
	return c.Command + " passed"
}

// mostReason bounds a judge's reasoning in a line for people, in bytes.
const mostReason = 160

func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if at := strings.Index(s, ". "); at > 0 {
		s = s[:at+1]
	}
	if len(s) > mostReason {
		s = strings.ToValidUTF8(s[:mostReason], "") + "..."
	}
	if s == "" {
		return "not complete"
	}
	return s
}
