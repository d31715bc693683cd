package subagent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Default names lathe's own agent, of no kind, where a name is asked for.
const Default = "default"

// Encode is the kind as the log of a main conversation keeps it; empty for nil.
func (k *Kind) Encode() string {
	if k == nil {
		return ""
	}
	text, err := json.Marshal(k)
	if err != nil {
		panic(err) // it has texts, numbers and flags only
	}
	return string(text)
}

// Decode reads the result of Encode.
func Decode(text string) (*Kind, error) {
	if text == "" {
		return nil, nil
	}
	k := &Kind{}
	return k, json.Unmarshal([]byte(text), k)
}

// Main is the kind for a main conversation: the mode that its file names is one that the user may leave. Nil stays nil.
func (k *Kind) Main() *Kind {
	if k == nil || k.Mode != permission.Plan {
		return k
	}
	main := *k
	main.ReadOnly = false
	return &main
}

// MainMode is the mode that a main conversation of this kind begins with, "" for none. Note says why the mode of its
// file has no effect: only the user loosens permissions, so a file of the project does not.
func (k *Kind) MainMode() (mode permission.Mode, note string) {
	switch {
	case k == nil || k.Mode == "":
		return "", ""
	case k.Mode == permission.Plan || k.Mode == permission.DontAsk || k.Mode == permission.AcceptEdits &&
		k.Source != "project":
		return k.Mode, ""
	}
	return "", "permissionMode: " + string(k.Mode) + " of the agent " + k.Name +
		" has no effect; choose the mode with --permission-mode"
}

// Steps is the limit of steps of a run, where another limit holds too; 0: none.
func (k *Kind) Steps(other int) int {
	if k == nil || k.MaxSteps == 0 || other > 0 && other < k.MaxSteps {
		return other
	}
	return k.MaxSteps
}

// Warmth is the temperature of the kind's requests; nil: the model's default.
func (k *Kind) Warmth() *float64 {
	if k == nil {
		return nil
	}
	return k.Temperature
}

// MayStart is the refusal of an agent of this kind to start one of another kind; nil may start all.
func (k *Kind) MayStart(name string) error {
	if k == nil || k.Spawns == nil || slices.ContainsFunc(k.Spawns,
		func(s string) bool { return strings.EqualFold(s, name) }) {
		return nil
	}
	return fmt.Errorf("an agent of the kind %s starts only these: %s", k.Name, strings.Join(k.Spawns, ", "))
}
