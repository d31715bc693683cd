package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/replay"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/provider"
)

// openRecording reads the recording of --replay. The provider and the model are those of the recorded run, unless flags
// name others.
func openRecording(o *Options) error {
	dir, err := workingFolder(o)
	if err != nil {
		return err
	}
	rec, err := replay.Open(o.ReplayFrom, dir)
	if err != nil {
		return &Error{
			Code: exitUsage, Msg: "--replay", Err: err,
			Hint: "give a folder that --debug wrote, or a file of --debug-file",
		}
	}
	if o.Provider == "" && o.APIBase == "" && o.Model == "" {
		o.Provider, o.APIBase = provider.Addressed(rec.URL)
		o.Model = rec.Model
		if o.Provider == "" {
			return usage("add --provider and --model as in the recorded run",
				"--replay: %s is not the address of a known provider", rec.URL)
		}
	}
	o.recording = rec
	return nil
}

// replays has the recording answer in place of the models.
func replays(inst *conversation.Instance, o *Options, secrets []string) {
	if o.recording != nil {
		o.recording.Mask(secrets...)
		inst.Replay(o.recording)
	}
}

// promptOf returns the prompt of the words and stdin; without words, a replay has that of the recorded run.
func (p *program) promptOf(ctx context.Context, o *Options, words []string) (string, error) {
	if o.recording != nil && strings.TrimSpace(strings.Join(words, "")) == "" && o.recording.Prompt != "" {
		return o.recording.Prompt, nil
	}
	return p.promptText(ctx, words)
}

// replayedAll returns an error if the run ended before the recorded one.
func replayedAll(o *Options, failed error) error {
	if o.recording == nil || failed != nil {
		return failed
	}
	n, first := o.recording.Unused()
	if n == 0 {
		return nil
	}
	return &Error{
		Code: exitFailed, Msg: fmt.Sprintf("the run ended before the recorded one: %s not sent, the first is %s",
			pluralWere(n), first),
		Hint: "replay later prompts of the recorded session with --input-format stream-json",
	}
}

func pluralWere(n int) string {
	if n == 1 {
		return "1 request of the recording was"
	}
	return fmt.Sprintf("%d requests of the recording were", n)
}
