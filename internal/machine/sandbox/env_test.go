//go:build unix

package sandbox

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// childEnv starts env(1) with the cleaned environment and returns what it sees.
func childEnv(t *testing.T, environ []string, o Options) map[string]string {
	t.Helper()
	r := New()
	defer r.Close()
	var out bytes.Buffer
	if _, err := r.Run(t.Context(), Spec{
		Argv: []string{"/usr/bin/env", "-0"}, Env: CleanEnv(environ, o),
		Stdout: &out,
	}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, kv := range strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		got[name] = value
	}
	return got
}

func TestChildSeesNoKeysAndNoHooks(t *testing.T) {
	secret := []string{
		"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=u", "OPENAI_API_KEY=k", "OPENAI_BASE_URL=u", "LATHE_LOG=x",
		"GEMINI_API_KEY=k", "CLAUDE_CODE_OAUTH_TOKEN=k", "LD_PRELOAD=/x.so", "LD_LIBRARY_PATH=/x", "LD_AUDIT=/x",
		"DYLD_INSERT_LIBRARIES=/x", "BASH_ENV=/x", "ENV=/x", "PROMPT_COMMAND=x", "SHELLOPTS=xtrace", "BASHOPTS=x",
		"PS4=$(x)", "BASH_FUNC_ls%%=() { x; }", "GLOBIGNORE=*", "IFS=/", "CDPATH=/", "LESSOPEN=|x", "FORCE_COLOR=1",
	}
	got := childEnv(t, append([]string{"HOME=/h", "PATH=/usr/bin:/bin", "GOFLAGS=-v", "GITHUB_TOKEN=t"}, secret...),
		Options{})
	for _, kv := range secret {
		if name, _, _ := strings.Cut(kv, "="); got[name] != "" {
			t.Errorf("the child sees %s=%s", name, got[name])
		}
	}
	want := map[string]string{
		"HOME": "/h", "GOFLAGS": "-v", "GITHUB_TOKEN": "t", "TERM": "dumb", "PAGER": "cat",
		"GIT_TERMINAL_PROMPT": "0", "LATHE": "1", "CLAUDECODE": "1", "GIT_EDITOR": "true",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

func TestScrubDropsWhatLooksLikeACredential(t *testing.T) {
	environ := []string{
		"GITHUB_TOKEN=t", "AWS_SECRET_ACCESS_KEY=s", "PGPASSWORD=p", "MYSQL_PWD=p", "MY_API_KEY=k", "NPM_AUTH=x",
		"SSH_AUTH_SOCK=/s",
		"DATABASE_URL=postgres://u:p@h/d", "PWD=/", "HOME=/h", "KEYBOARD=de", "TOKENIZERS_PARALLELISM=1",
		"HOMEPAGE=https://h/@x:y", "XAUTHORITY=/x",
	}
	got := childEnv(t, environ, Options{ScrubCredentials: true, Keep: []string{"NPM_*"}})
	for _, name := range []string{
		"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "MYSQL_PWD", "MY_API_KEY",
		"SSH_AUTH_SOCK", "DATABASE_URL",
	} {
		if v, ok := got[name]; ok {
			t.Errorf("%s=%s was kept", name, v)
		}
	}
	for _, name := range []string{"HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "HOMEPAGE", "XAUTHORITY", "NPM_AUTH"} {
		if _, ok := got[name]; !ok {
			t.Errorf("%s was dropped", name)
		}
	}
}

func TestKeepWinsAndDropAndSetAreObeyed(t *testing.T) {
	environ := []string{"LD_LIBRARY_PATH=/l", "TERM=xterm", "FOO_A=1", "BAR=1", "PATH=.::/bin:rel:/usr/bin"}
	got := childEnv(t, environ, Options{
		Keep: []string{"LD_LIBRARY_PATH", "TERM"}, Drop: []string{"FOO_*"},
		Set: map[string]string{"BAR": "2", "NEW": "3", "TERM": "no"},
	})
	if got["LD_LIBRARY_PATH"] != "/l" || got["TERM"] != "xterm" || got["FOO_A"] != "" || got["BAR"] != "2" ||
		got["NEW"] != "3" {
		t.Errorf("got %v", got)
	}
	if got["PATH"] != "/bin:/usr/bin" {
		t.Errorf("PATH is %q: entries that are no absolute path must go", got["PATH"])
	}
}

func TestCleanEnvIsTheSameEachTimeAndKeepsItsInput(t *testing.T) {
	in := os.Environ()
	before := slices.Clone(in)
	o := Options{Set: map[string]string{"B": "1", "A": "2", "C": "3"}}
	if a, b := CleanEnv(in, o), CleanEnv(in, o); !slices.Equal(a, b) {
		t.Error("two results differ")
	}
	if !slices.Equal(in, before) {
		t.Error("the input was changed")
	}
}

func TestVariablesReplaceThoseOfTheSameName(t *testing.T) {
	got := Overlay([]string{"A=1", "B=2", "A=3"}, map[string]string{"A": "x", "C": "y"})
	if want := []string{"B=2", "A=x", "C=y"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
