package conversation

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// recordProcess writes an answer of a plugin process to the log, as the run of a hook.
func (s *Session) recordProcess(name, method string, input, output any, took time.Duration) {
	in, errIn := json.Marshal(input)
	out, errOut := json.Marshal(output)
	if errIn != nil || errOut != nil {
		return
	}
	run := session.HookRun{
		Event: method, Hook: "process " + name, From: "process " + name, Input: bounded(in),
		Output: string(bounded(out)), DurationMS: took.Milliseconds(),
	}
	// what cannot be written, the journal reports
	_ = s.AddWith(run, event.HookRun{Event: method, Hook: run.Hook, Stdout: run.Output, Duration: took})
}

// mostRecorded is how much of an input or output the log keeps, in bytes.
const mostRecorded = 16 << 10

func bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) <= mostRecorded {
		return raw
	}
	short, _ := json.Marshal(fmt.Sprintf("[%d bytes]", len(raw)))
	return short
}
