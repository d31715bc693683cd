package review_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/review"
)

// A repository of 18 lines, one claim for each: the first 12 are defects; three of the others are denied by the agent
// that checks them, and three have evidence that is not in the file.
func planted() (files map[string]string, claims []review.Finding) {
	var b strings.Builder
	for i := range 18 {
		line := fmt.Sprintf("step%d(input[%d])", i, i)
		fmt.Fprintf(&b, "%s\n\n\n\n\n", line)
		claims = append(claims, review.Finding{
			File: "a.go", Line: i*5 + 2, Severity: "high", Title: fmt.Sprintf("defect%d", i), Evidence: line,
		})
	}
	return map[string]string{"a.go": b.String()}, claims
}

func answer(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return "Here it is:\n```json\n" + string(b) + "\n```"
}

func TestAllPlantedDefectsAreFoundAndTheFalseOnesDropped(t *testing.T) {
	files, claims := planted()
	r := &review.Reviewer{
		Read: func(file string) ([]byte, error) {
			if text, ok := files[file]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		},
		Tell: func(string) {},
		Ask: func(_ context.Context, title, prompt string) (string, error) {
			if strings.HasPrefix(title, "review ") {
				return answer(t, map[string]any{"findings": claims}), nil
			}
			var n int
			if _, err := fmt.Sscanf(title, "check: defect%d", &n); err != nil {
				t.Error(title)
			}
			said := map[string]any{
				"confirmed": true, "confidence": 0.9, "file": "a.go", "evidence": claims[n].Evidence,
				"trace": "a.go:1 reads past the end",
			}
			switch {
			case n >= 15:
				said["evidence"] = "nothing like it"
			case n >= 12:
				said["confirmed"] = false
			}
			return answer(t, said), nil
		},
	}
	rep, err := r.Run(t.Context(), "diff", review.Levels["high"], 0)
	if err != nil || len(rep.Findings) != 12 || len(rep.Dropped) != 6 {
		t.Fatalf("%v: %d findings, %d dropped", err, len(rep.Findings), len(rep.Dropped))
	}
	for _, f := range rep.Findings {
		if len(f.Aspects) != 5 || (f.Line-1)%5 != 0 { // merged, and at the line of the evidence
			t.Errorf("%+v", f)
		}
	}
	out, err := rep.SARIF("dev")
	var sarif struct {
		Runs []struct{ Results []any }
	}
	if err = errors.Join(err, json.Unmarshal(out, &sarif)); err != nil || len(sarif.Runs[0].Results) != 12 {
		t.Errorf("%v %s", err, out)
	}
	rep, err = r.Run(t.Context(), "diff", review.Levels["low"], 5)
	if err != nil || len(rep.Findings) != 5 || rep.Left != 7 {
		t.Errorf("%v %+v", err, rep)
	}
}

func TestAReviewerThatFailsIsNamed(t *testing.T) {
	r := &review.Reviewer{
		Read: func(string) ([]byte, error) { return nil, nil }, Tell: func(string) {},
		Ask: func(_ context.Context, title, _ string) (string, error) {
			if title == "review security" {
				return "", errors.New("overloaded")
			}
			return `{"findings": []}`, nil
		},
	}
	rep, err := r.Run(t.Context(), "diff", review.Levels["medium"], 0)
	if err != nil || !slices.Equal(rep.Problems, []string{"the reviewer for security: overloaded"}) {
		t.Errorf("%v %+v", err, rep)
	}
}
