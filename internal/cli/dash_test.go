package cli

import "testing"

func TestOnlyRemotesOnHostsOfGitHubAreAskedAbout(t *testing.T) {
	for remote, want := range map[string]string{
		"https://github.com/a/b.git": "github.com/a/b", "git@github.com:a/b.git": "github.com/a/b",
		"ssh://git@github.com:22/a/b": "github.com/a/b", "https://x.ghe.com/a/b": "x.ghe.com/a/b",
		"https://own.example/a/b": "own.example/a/b", "https://evil.example/a/b": "", "/srv/a/b": "", "": "",
		"https://github.com/a/b/c": "", "https://github.com.evil.example/a/b": "",
	} {
		if got := hubName(remote, "own.example"); got != want {
			t.Errorf("%s: %q, want %q", remote, got, want)
		}
	}
}

func TestAPullRequestIsShownWithItsChecks(t *testing.T) {
	for answer, want := range map[string]string{
		`{"number":12,"state":"OPEN","statusCheckRollup":[{"status":"COMPLETED","conclusion":"SUCCESS"},` +
			`{"state":"FAILURE"},{"status":"IN_PROGRESS","conclusion":""}]}`: "#12 open, 1 of 3 checks, 1 failed",
		`{"number":3,"state":"OPEN","isDraft":true}`: "#3 draft",
		`{"number":4,"state":"MERGED"}`:              "#4 merged",
		`{}`:                                         "", `no JSON`: "",
	} {
		if got := pullText([]byte(answer)); got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}
