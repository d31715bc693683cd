package consult

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

func question(text string, labels ...string) Question {
	q := Question{Question: text}
	for _, l := range labels {
		q.Options = append(q.Options, Option{Label: l})
	}
	return q
}

func TestQuestionsThatNobodyCouldAnswerAreRefused(t *testing.T) {
	good := question("Which?", "a", "b")
	if err := (Questions{Questions: []Question{good, question("And?", "a", "b")}}).Check(); err != nil {
		t.Error(err)
	}
	most := Questions{Questions: []Question{
		question("1", "a", "b"), question("2", "a", "b"),
		question("3", "a", "b", "c", "d"), question("4", strings.Split("abcdefgh", "")...),
	}}
	if err := most.Check(); err != nil {
		t.Error(err)
	}
	for want, in := range map[string][]Question{
		"ask 1 to 4":            nil,
		"ask 1 to 4 questions":  {good, good, good, good, good},
		"is asked twice":        {good, good},
		"has no text":           {question(" \n", "a", "b")},
		"2 to 8 options, not 1": {question("x", "a")},
		"not 9":                 {question("x", strings.Split("abcdefghi", "")...)},
		"no label":              {question("x", "a", " ")},
		`called "a"`:            {question("x", "a", "a")},
		"too long":              {question("x", "a", strings.Repeat("b", 1<<20))},
		"must be shorter":       {question(strings.Repeat("x", 1<<20), "a", "b")},
	} {
		if err := (Questions{Questions: in}).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Answers name options that there are; other ids, and answers to other questions, do not count.
func TestAnswersAreThoseOfTheQuestions(t *testing.T) {
	in := Questions{
		Questions: []Question{question("One?", "a", "b"), question("Two?", "c", "d")},
		Answers:   map[string]string{"One?": "forged"},
	}
	call := agent.Approval{Call: llm.ToolCall{Input: encode(in)}}
	for name, tc := range map[string]struct {
		answer event.Answer
		want   map[string]string
	}{
		"choices": {event.Answer{Parts: []event.Answer{{Choice: "1"}, {
			Choices: []string{"0", "1"},
			Text:    " and more ",
		}}}, map[string]string{"One?": "b", "Two?": "c, d, and more"}},
		"wrong ids": {
			event.Answer{Parts: []event.Answer{{Choice: "7"}, {Choices: []string{"-1", "x"}, Text: "own"}}},
			map[string]string{"Two?": "own"},
		},
		"a host": {event.Answer{
			Choice: event.ChoiceOnce,
			Input:  json.RawMessage(`{"answers":{"One?":["a","b"],"Three?":"x"}}`),
		}, map[string]string{"One?": "a, b"}},
		"too many": {
			event.Answer{Parts: []event.Answer{{Choice: "0"}, {Choice: "0"}, {Choice: "0"}}},
			map[string]string{"One?": "a", "Two?": "c"},
		},
		"none":           {event.Answer{Canceled: true}, nil},
		"none of a host": {event.Answer{Choice: event.ChoiceOnce}, nil},
		"broken":         {event.Answer{Choice: event.ChoiceOnce, Input: json.RawMessage(`{"answers":{"One?":{}}}`)}, nil},
	} {
		d := Asking().Decide(call, tc.answer)
		var got Questions
		if d.Input != nil {
			if err := json.Unmarshal(d.Input, &got); err != nil {
				t.Fatal(err)
			}
		}
		if (d.Effect == permission.Allow) != (tc.want != nil) || len(got.Answers) != len(tc.want) {
			t.Errorf("%s: %+v %v", name, d, got.Answers)
		}
		for q, a := range tc.want {
			if got.Answers[q] != a {
				t.Errorf("%s: %q answered %q, want %q", name, q, got.Answers[q], a)
			}
		}
	}
	if q, err := Asking().Question(call); err != nil || strings.Contains(string(q.Call.Input), "forged") {
		t.Errorf("%s %v", q.Call.Input, err)
	}
}

func TestAPlanThatNobodyCouldReadIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), FileName)
	p := NewPlan(Session{File: file})
	if _, err := p.Draft(Exit{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("no plan: %v", err)
	}
	if _, err := p.Draft(Exit{Plan: strings.Repeat("x", 1<<20)}); err == nil || !strings.Contains(err.Error(),
		"1048576 bytes") {
		t.Errorf("a large plan: %v", err)
	}
	if err := os.WriteFile(file, []byte(strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Draft(Exit{}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a large file: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, file); err != nil {
		t.Skip(err)
	}
	if text, err := p.Draft(Exit{}); err == nil {
		t.Errorf("a link was followed: %q", text)
	}
}

func TestApprovedPlansAreCopiedUnderNamesOfTheirOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plans")
	p := NewPlan(Session{Folder: func() string { return dir }})
	for _, text := range []string{
		"# Add a cache: ../../etc", "# Add a cache: ../../etc", "\x1b[2J",
		strings.Repeat("é", 500),
	} {
		path, err := p.copy(text)
		if err != nil || filepath.Dir(path) != dir || len(filepath.Base(path)) > 80 {
			t.Errorf("%q %v", path, err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 4 {
		t.Errorf("%v %v", files, err)
	}
	for _, f := range files {
		if strings.Trim(f.Name(), "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
			t.Errorf("%q", f.Name())
		}
	}
}

func TestTheFolderForPlans(t *testing.T) {
	for setting, want := range map[string]string{
		"": "", "docs/plans": "/w/docs/plans", "~/plans": "/home/u/plans",
		"/p": "/p",
	} {
		if got := Folder(setting, "/home/u", "/w"); got != want {
			t.Errorf("%q: %q, want %q", setting, got, want)
		}
	}
}

// Whether plan mode is on is read back from the conversation, for a resumed one.
func TestAConversationSaysWhetherPlanModeIsOn(t *testing.T) {
	reminder := func(text string) llm.Message {
		return llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{
			Text:   text + "\n</system-reminder>",
			Origin: llm.OriginReminder,
		}}}
	}
	exit := func(failed bool) []llm.Message {
		return []llm.Message{
			{Role: llm.Assistant, Parts: []llm.Part{llm.ToolCall{ID: "1", Name: ExitPlanName}}},
			{Role: llm.User, Parts: []llm.Part{llm.ToolResult{CallID: "1", IsError: failed}}},
		}
	}
	on, off := reminder(onHead+": x"), reminder(offHead+": x")
	for name, tc := range map[string]struct {
		msgs []llm.Message
		want bool
	}{
		"nothing":            {nil, false},
		"on":                 {[]llm.Message{on}, true},
		"off again":          {[]llm.Message{on, off}, false},
		"on again":           {[]llm.Message{on, off, on}, true},
		"approved":           {append([]llm.Message{on}, exit(false)...), false},
		"refused":            {append([]llm.Message{on}, exit(true)...), true},
		"the user's words":   {[]llm.Message{llm.UserText(onHead)}, false},
		"approved, on again": {append(append([]llm.Message{on}, exit(false)...), on), true},
	} {
		if got := isOn(tc.msgs); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
