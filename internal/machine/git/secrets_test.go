package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestSecretsOfTheConfigurationAreFound(t *testing.T) {
	for text, want := range map[string][]string{
		"[user]\nname = A\nemail = a@b.c\n[core]\neditor = vi\n":                           nil,
		"[remote \"origin\"]\nurl = https://github.com/a/b\n":                              nil,
		"[remote \"origin\"]\nurl = git@github.com:a/b\n":                                  nil,
		"[remote \"origin\"]\nurl = ssh://git@github.com/a/b\n":                            nil,
		"[remote \"origin\"]\nurl = https://me@dev.azure.com/a/b\n":                        nil,
		"[credential]\nhelper = store\nuseHttpPath = true\n":                               nil,
		"[remote \"origin\"]\nurl = https://u:pw@github.com/a/b\n":                         {"remote.origin.url"},
		"[remote \"origin\"]\npushurl = https://ghp_0123456789abcdefghij@github.com/a/b\n": {"remote.origin.pushurl"},
		"[http \"https://github.com/\"]\nextraheader = AUTHORIZATION: basic eDp5\n":        {"http.https://github.com/.extraheader"},
		"[http]\nproxy = http://u:p@proxy:3128\n":                                          {"http.proxy"},
		"[sendemail]\nsmtpPass = x\n":                                                      {"sendemail.smtppass"},
		"[github]\ntoken = x\n":                                                            {"github.token"},
		"[credential]\nhelper = \"!f() { echo password=x; }; f\"\n":                        {"credential.helper"},
		"[url \"https://x:tok@github.com/\"]\ninsteadOf = https://github.com/\n":           {"url....@github.com/.insteadof"},
		"[include]\npath = more\n":                                                         {"github.token"},
		"[includeIf \"gitdir:/nowhere/\"]\npath = more\n":                                  {"github.token"},
	} {
		dir, home := t.TempDir(), t.TempDir()
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Skipf("git init: %s", out)
		}
		for path, text := range map[string]string{
			filepath.Join(home, ".gitconfig"): text,
			filepath.Join(home, "more"):       "[github]\ntoken = y\n",
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Secrets(dir, home)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}
