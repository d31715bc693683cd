//go:build unix

package prompt

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

func TestCommandsOfTheSettingsBecomeSections(t *testing.T) {
	top, o := tree(t, map[string]string{"p/sub/TODO": "ship it\n"})
	r := sandbox.New()
	defer r.Close()
	environ := func() []string { return append(os.Environ(), "WHO=me") }
	o.Providers = Commands([]Command{
		{Name: "todo", Shell: "cat TODO; echo for $WHO"},
		{Name: "broken", Shell: "echo half; echo no such thing >&2; exit 3"},
		{Name: "late", Shell: "echo started > ../../late; sleep 60; echo late text", Wait: 300 * time.Millisecond},
		{Name: "long", Shell: "yes line", Wait: time.Millisecond * 500, Limit: 200},
		{Name: "many", Shell: "i=0; while [ $i -lt 9000 ]; do echo 0123456789; i=$((i+1)); done", Limit: 200},
		{Name: "git", Shell: "echo mine"},
		{Name: `x"><y`, Shell: "touch ../../ran"},
	}, o.Dir, r, environ)
	p := Begin(t.Context(), o)
	began := time.Now()
	got := text(p.Parts(t.Context()))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it waited %s", took)
	}
	if want := "<context name=\"todo\">\nship it\nfor me\n</context>\n"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
	for _, absent := range []string{"half", "late text", "mine", "<y", `"long"`} {
		if strings.Contains(got, absent) {
			t.Errorf("%q is in\n%s", absent, got)
		}
	}
	if n := strings.Count(got, "0123456789\n"); n == 0 || n > 20 || !strings.Contains(got, "[shortened: ") {
		t.Errorf("%d lines of a long output", n)
	}
	for _, want := range []string{
		`"broken" is left out: its command ended with exit code 3; no such thing`,
		`"late" is left out: it took longer than 300ms`,
		`"git" is left out: lathe has a context of this name`, "a name has letters",
	} {
		if !strings.Contains(p.Notice(), want) {
			t.Errorf("%q is not in %q", want, p.Notice())
		}
	}
	if _, err := os.Stat(top + "/ran"); err == nil {
		t.Error("a command whose name cannot be used was run")
	}
}

func TestACommandGetsNoMoreThanThreeSeconds(t *testing.T) {
	all := Commands([]Command{{Name: "slow", Shell: "true", Wait: time.Hour}, {Name: "plain", Shell: "true"}}, "/", nil,
		nil)
	if all[0].Wait != providerWait || all[1].Wait != 0 {
		t.Errorf("%s %s", all[0].Wait, all[1].Wait)
	}
}

func TestTheStructureIsAsDeepAsFits(t *testing.T) {
	files := map[string]string{
		"p/.git/HEAD": "x", "p/.gitignore": "out/\n", "p/README.md": "x", "p/go.mod": "x",
		"p/a/x": "", "p/a/b/y": "", "p/a/b/c/z": "", "p/out/built": "",
	}
	_, o := tree(t, files)
	got, err := Structure(o.Root).Get(t.Context())
	if want := "a/ 3\n b/ 2\n  c/ 1\n.gitignore README.md go.mod\n"; err != nil || got != want {
		t.Errorf("%q %v", got, err)
	}
	for i := range 300 { // a second level that does not fit
		files["p/a/folder"+strings.Repeat("i", i%50)+string(rune('a'+i/50))+"/f"] = ""
	}
	_, o = tree(t, files)
	if got, err = Structure(o.Root).Get(t.Context()); err != nil || got != "a/ 303\n.gitignore README.md go.mod\n" {
		t.Errorf("%q %v", got, err)
	}
}
