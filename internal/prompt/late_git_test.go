package prompt

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/git"
)

// The state that git tells late comes once, after the context was sent without it.
func TestLateGitComesOnce(t *testing.T) {
	p := &Pending{git: make(chan git.Info, 1), late: func() {}, o: ContextOptions{Dir: t.TempDir(), GitWait: 1}}
	if text := p.gitState(); !strings.Contains(text, "Git repository: no") || p.LateGit() != "" {
		t.Errorf("%q", text)
	}
	p.git <- git.Info{Repo: git.Repo{Root: "/r"}, IsRepo: true, Status: &git.Status{}}
	if text := p.LateGit(); !strings.Contains(text, "Git repository: /r") || p.LateGit() != "" {
		t.Errorf("%q", text)
	}
}
