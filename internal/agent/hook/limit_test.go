package hook

import (
	"testing"
	"time"
)

func TestTheTimeOfAHandler(t *testing.T) {
	for _, c := range []struct {
		h    Handler
		want time.Duration
	}{
		{Handler{Event: "PreToolUse", Type: typeCommand}, 10 * time.Minute},
		{Handler{Event: "PreToolUse", Type: typeHTTP}, 10 * time.Minute},
		{Handler{Event: "PreToolUse", Type: typeMCP}, 10 * time.Minute},
		{Handler{Event: "PreToolUse", Type: typePrompt}, 30 * time.Second},
		{Handler{Event: "PreToolUse", Type: typeAgent}, time.Minute},
		{Handler{Event: "PreToolUse", Type: typeCommand, Timeout: 0.5}, 500 * time.Millisecond},
		{Handler{Event: "PreToolUse", Type: typeCommand, Timeout: 3600}, time.Hour},
		{Handler{Event: "UserPromptSubmit", Type: typeCommand}, 30 * time.Second},
		{Handler{Event: "UserPromptSubmit", Type: typeCommand, Timeout: 90}, 90 * time.Second},
		{Handler{Event: "MessageDisplay", Type: typeCommand}, 10 * time.Second},
		{Handler{Event: "SessionEnd", Type: typeCommand}, 1500 * time.Millisecond},
		{Handler{Event: "SessionEnd", Type: typeCommand, Timeout: 5}, 5 * time.Second},
		{Handler{Event: "SessionEnd", Type: typeCommand, Timeout: 600}, time.Minute},
	} {
		if got := c.h.limit(); got != c.want {
			t.Errorf("%s of %s with %v s: %v, want %v", c.h.Type, c.h.Event, c.h.Timeout, got, c.want)
		}
	}
}
