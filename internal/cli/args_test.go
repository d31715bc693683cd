package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWordsAfterPrintAreThePromptWhateverTheyAre(t *testing.T) {
	for _, args := range [][]string{
		{"-p", "mcp", "is", "broken"},
		{"-p", "session", "list"},
		{"session", "list", "-p"},
		{"--print", "doctor"},
		{"-pc", "help", "me"},
		{"--model", "x", "tool", "--print"},
	} {
		inv, err := splitArgs(args)
		if err != nil || inv.command {
			t.Errorf("%q: command %v, error %v", args, inv.command, err)
		}
	}
}

func TestAFirstWordThatNamesACommandIsOne(t *testing.T) {
	for _, args := range [][]string{
		{"session", "list"},
		{"--cwd", "/x", "session", "list", "--json"},
		{"--cwd=/x", "tool", "call", "Read", "--input", "-p"},
		{"doctor"},
		{"__complete", "-p", ""},
	} {
		inv, err := splitArgs(args)
		if err != nil || !inv.command {
			t.Errorf("%q: command %v, error %v", args, inv.command, err)
		}
	}
	for _, args := range [][]string{
		{"fix the session bug"},
		{"explain", "session"},
		{"--model", "session", "explain"},
		{"--", "-x"},
		nil,
	} {
		if inv, err := splitArgs(args); err != nil || inv.command {
			t.Errorf("%q: command %v, error %v", args, inv.command, err)
		}
	}
}

func TestATypoOfACommandIsNotSentToTheModel(t *testing.T) {
	inv, err := splitArgs([]string{"docter"})
	if e, ok := errors.AsType[*Error](inv.doubt); err != nil || !ok || e.Code != exitUsage ||
		!strings.Contains(e.Error(), `"doctor"`) || !strings.Contains(e.Error(), `lathe -p "docter"`) {
		t.Errorf("got %v, %v", inv.doubt, err)
	}
	for _, args := range [][]string{{"sesion", "list"}, {"Session", "list"}, {"atach"}, {"updat"}} {
		if inv, _ := splitArgs(args); inv.doubt == nil {
			t.Errorf("%q passed as a prompt", args)
		}
	}
	for _, args := range [][]string{{"hello"}, {"tools are broken"}, {"why", "tool"}, {"explain"}, {"-p", "docter"}} {
		if inv, err := splitArgs(args); err != nil || inv.doubt != nil {
			t.Errorf("%q: %v, %v", args, err, inv.doubt)
		}
	}
}

func TestTheNamesOfCommandsToComeAreKept(t *testing.T) {
	for _, name := range reservedNames {
		_, err := splitArgs([]string{name})
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != exitUsage ||
			!strings.Contains(err.Error(), "is not there yet") || !strings.Contains(err.Error(), `lathe -p "`+name+`"`) {
			t.Errorf("%s: %v", name, err)
		}
		if isCommand(name) {
			t.Errorf("%s is a command, and kept for one", name)
		}
	}
	for _, args := range [][]string{{"-p", "update"}, {"update the readme"}, {"please", "update"}} {
		if _, err := splitArgs(args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestResumeTakesOneWordAndLeavesAPromptAlone(t *testing.T) {
	for _, tt := range []struct{ args, want []string }{
		{[]string{"--resume", "0190", "go on"}, []string{"--resume=0190", "go on"}},
		{[]string{"--resume", "go on"}, []string{"--resume", "go on"}},
		{[]string{"-r", "0190", "-p", "go"}, []string{"--resume=0190", "-p", "go"}},
		{[]string{"-r0190abcd"}, []string{"--resume=0190abcd"}},
		{[]string{"-r=0190abcd"}, []string{"--resume=0190abcd"}},
		{[]string{"-pr", "0190", "go"}, []string{"-p", "--resume=0190", "go"}},
		{[]string{"-r"}, []string{"--resume"}},
		{[]string{"-r", "-p", "go"}, []string{"--resume", "-p", "go"}},
		{[]string{"--resume=0190", "go"}, []string{"--resume=0190", "go"}},
	} {
		inv, err := splitArgs(tt.args)
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
		}
		if diff := cmp.Diff(tt.want, inv.args); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestAllowedToolsTakesRulesAndNotThePrompt(t *testing.T) {
	inv, err := splitArgs([]string{
		"-p", "--allowedTools", "Bash(git log *)", "Bash(git diff *)", "Read", "mcp__x__y",
		"explain Read",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-p", "--allowedTools=Bash(git log *)", "--allowedTools=Bash(git diff *)", "--allowedTools=Read",
		"--allowedTools=mcp__x__y", "explain Read",
	}
	if diff := cmp.Diff(want, inv.args); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRulesAreSplitOutsideParentheses(t *testing.T) {
	got := splitRules([]string{"Read, Bash(git log *) Edit", "Bash(npm run a,b),mcp__x", "", "Bash(never closed, x"})
	want := []string{"Read", "Bash(git log *)", "Edit", "Bash(npm run a,b)", "mcp__x", "Bash(never closed, x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestListFlagsTakeSeveralArguments(t *testing.T) {
	dir := t.TempDir()
	inv, err := splitArgs([]string{
		"-p", "--tools", "Read", "Grep", "explain Read", "--add-dir", dir, "../b", "go on",
		"--disallowedTools", "Edit", "Bash(rm *)", "stop", "--betas", "one-2025-08-07", "two-2025-02-19", "begin",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-p", "--tools=Read", "--tools=Grep", "explain Read", "--add-dir=" + dir, "--add-dir=../b", "go on",
		"--disallowedTools=Edit", "--disallowedTools=Bash(rm *)", "stop", "--betas=one-2025-08-07", "--betas=two-2025-02-19",
		"begin",
	}
	if diff := cmp.Diff(want, inv.args); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
