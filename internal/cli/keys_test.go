package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// The variables with a provider's key reach no command, but for those that other programs use too, like GITHUB_TOKEN.
func TestKeysOfProvidersReachNoCommand(t *testing.T) {
	bin, home := buildLathe(t), t.TempDir()
	env, kept := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OTHER=value-OTHER"}, map[string]bool{}
	for _, h := range hosts.Table {
		for _, v := range h.Vars {
			if v.Setting == "apiKey" || v.Setting == "authToken" {
				env = append(env, v.Name+"=value-"+v.Name)
				kept[v.Name] = kept[v.Name] || !h.Named
			}
		}
	}
	c := exec.Command(bin, "tool", "call", "Bash", "--input", `{"command":"env"}`, "--permission-mode",
		"bypassPermissions")
	c.Dir, c.Env = home, env
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "value-OTHER") {
		t.Fatalf("%v: %s", err, out)
	}
	n := 0
	for name, ofLathe := range kept {
		if ofLathe {
			n++
			if strings.Contains(string(out), "value-"+name+"\n") {
				t.Errorf("a command sees %s", name)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d variables were tried", n)
	}
}
