package shell

import (
	"slices"
	"testing"
)

// The sandbox opens the places of new work trees and the folders of git -C, so these must be what git takes them for.
func TestPlacesOfWorkTreesAreKnownInEveryForm(t *testing.T) {
	for line, want := range map[string]string{
		"git worktree add ../wt":                        "/home/u/wt",
		"git worktree add -b x ../wt 2>&1 | tail -1":    "/home/u/wt",
		"cd sub && git worktree add --detach ../../wt":  "/home/u/wt",
		"(cd .. && git -C proj worktree add -b y ../z)": "/home/u/z",
		"git worktree add /srv/wt; make":                "/srv/wt",
		"git worktree list ../wt":                       "",
		"git worktree add $X":                           "",
		"echo git worktree add ../wt":                   "",
	} {
		got := Analyze(line, proj, keyed{}).Command.Trees
		if want != "" && !slices.Contains(got, want) || want == "" && len(got) > 0 {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if got := Analyze("git -C ../wt commit -m x", proj, keyed{}).Command.GitDirs; !slices.Contains(got, "/home/u/wt") {
		t.Errorf("git -C: %q", got)
	}
}
