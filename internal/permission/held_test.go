package permission_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
	"github.com/lathe-dev/lathe/internal/permission/shell"
)

// heldRequest is a call of Bash in /p, which the full sandbox holds.
func heldRequest(line string, mode permission.Mode) permission.Request {
	accesses := shell.Analyze(line, "/home/u/proj", &permission.HypotheticalMachine{HomeDir: "/home/u", RootDirs: []string{"/home/u/proj"}}).Accesses
	accesses[0].Command.Held = true
	return permission.Request{
		Tool: "Bash", Input: []byte(`{"command":"x"}`), Accesses: accesses, Mode: mode, Dir: "/home/u/proj",
	}
}

func TestTheModeIsTheBoundaryOfAHeldCommand(t *testing.T) {
	catalogue := call.NewCatalogue(call.Declaration{
		Name: "Bash", Subject: permission.SubjectCommand, SubjectIn: []string{"command"},
	})
	allow, err := permission.ParseRule(catalogue, "Bash(npm install *)", permission.Allow, permission.Source{Name: "user"})
	if err != nil {
		t.Fatal(err)
	}
	p := permission.NewPolicy(catalogue, "/home/u", []string{"/home/u/proj"}, []permission.Rule{allow})
	for _, tt := range []struct {
		line  string
		mode  permission.Mode
		want  permission.Effect
		reach permission.Reach
	}{
		{"ls -l", permission.Default, permission.Allow, permission.ReachRead},
		{"go test ./...", permission.Default, permission.Allow, permission.ReachView},
		{"make && ./run.sh", permission.Default, permission.Allow, permission.ReachView},
		{`python3 -c 'print(1)'`, permission.Default, permission.Allow, permission.ReachView},
		{"for i in 1 2; do echo $i; done", permission.Default, permission.Allow, permission.ReachView},
		{"go test ./... >/tmp/log", permission.Default, permission.Allow, permission.ReachView},
		{"cat /usr/include/stdio.h", permission.Default, permission.Allow, permission.ReachRead},
		{"go test ./...", permission.Plan, permission.Allow, permission.ReachRead},
		{"go test ./...", permission.AcceptEdits, permission.Allow, permission.ReachEdit},
		{"mkdir x && mv a x", permission.AcceptEdits, permission.Allow, permission.ReachEdit},
		{"go test ./...", permission.Auto, permission.Allow, permission.ReachEdit},
		{"go test ./...", permission.Bypass, permission.Allow, permission.ReachOpen},
		{"npm install x", permission.Default, permission.Allow, permission.ReachWrite},
		{"npm install x", permission.Plan, permission.Deny, permission.ReachWrite},
		{"echo x >a.txt", permission.Default, permission.Ask, permission.ReachWrite},
		{"git commit -m x", permission.Default, permission.Ask, permission.ReachWrite},
		{"sed -i s/a/b/ a.txt", permission.Default, permission.Ask, permission.ReachWrite},
		{"touch a.txt", permission.Plan, permission.Deny, permission.ReachWrite},
		{"cat /home/u/notes.txt", permission.Default, permission.Ask, permission.ReachWrite},
		{"cat /home/other/notes.txt", permission.Default, permission.Ask, permission.ReachWrite},
		{"cat ~/.ssh/id_ed25519", permission.AcceptEdits, permission.Ask, permission.ReachWrite},
		{"curl https://example.com", permission.AcceptEdits, permission.Ask, permission.ReachWrite},
		{"git reset --hard", permission.AcceptEdits, permission.Ask, permission.ReachWrite},
		{"rm -rf ~", permission.AcceptEdits, permission.Deny, permission.ReachWrite},
		{"go test ./...", permission.DontAsk, permission.Allow, permission.ReachView},
		{"touch a.txt", permission.DontAsk, permission.Deny, permission.ReachWrite},
	} {
		d := p.Decide(heldRequest(tt.line, tt.mode))
		if d.Effect != tt.want || d.Effect == permission.Allow && d.Reach != tt.reach {
			t.Errorf("%s in %s: %s %q, want %s %q: %s", tt.line, tt.mode, d.Effect, d.Reach, tt.want, tt.reach, d.Reason)
		}
	}
}

// Lines that an agent runs every day, the sandbox holds without a question.
func TestEverydayLinesDoNotAskWhereTheSandboxHoldsThem(t *testing.T) {
	catalogue := call.NewCatalogue(call.Declaration{
		Name: "Bash", Subject: permission.SubjectCommand, SubjectIn: []string{"command"},
	})
	p := permission.NewPolicy(catalogue, "/home/u", []string{"/home/u/proj"}, nil)
	lines := permissiontest.Lines(t, "everyday_held.txt")
	for _, line := range lines {
		if d := p.Decide(heldRequest(line, permission.Default)); d.Effect != permission.Allow {
			t.Errorf("%q asks: %s", line, d.Reason)
		}
	}
	if len(lines) < 300 {
		t.Errorf("only %d lines", len(lines))
	}
}
