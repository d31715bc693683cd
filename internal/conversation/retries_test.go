package conversation_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
)

// Where somebody watches, a request is sent again for three minutes; else, or with a setting, as often as that says.
func TestRequestsAreSentAgainForLongerWhereSomebodyWatches(t *testing.T) {
	for _, tt := range []struct {
		vars    []string
		patient bool
		want    int
	}{{nil, true, 10}, {nil, false, 3}, {[]string{"CLAUDE_CODE_MAX_RETRIES=2"}, true, 2}} {
		p := newPlace(t, nil)
		p.vars = tt.vars
		inst := p.open(t, func(o *conversation.Options) { o.Patient = tt.patient })
		if got := inst.Retries(); got != tt.want {
			t.Errorf("%v, %v: %d", tt.vars, tt.patient, got)
		}
	}
}
