package config_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

const handWritten = `// my settings
{
    // the good one
    "model": "sonnet", // for now
    "ourOwnKey": {"keep": [1, 2,]},

    "permissions": {
        "allow": [
            "Read", // harmless
            "Bash(go *)" // mostly
        ],
        "deny": ["WebFetch"]
    }, /* that is all */
}
// the end
`

func set(t *testing.T, m *machine, path, value string, scope config.Layer) {
	t.Helper()
	if err := m.load().Set(path, value, scope); err != nil {
		t.Fatal(err)
	}
}

func TestSetChangesOneValueAndKeepsEverythingElse(t *testing.T) {
	for name, c := range map[string]struct{ path, value, old, now string }{
		"replace":       {"model", "opus", `"model": "sonnet", // for now`, `"model": "opus", // for now`},
		"append inside": {"permissions.deny+", "WebSearch", `["WebFetch"]`, `["WebFetch", "WebSearch"]`},
		"append below": {
			"permissions.allow+", "Edit", "\"Bash(go *)\" // mostly\n        ]",
			"\"Bash(go *)\", // mostly\n            \"Edit\"\n        ]",
		},
		"append what is there": {"permissions.allow+", "Read", "x", "x"},
		"new key":              {"debug", "true", "}, /* that is all */\n}", "}, /* that is all */\n    \"debug\": true,\n}"},
		"new nested key": {
			"permissions.defaultMode", "plan", "[\"WebFetch\"]\n    }",
			"[\"WebFetch\"],\n        \"defaultMode\": \"plan\"\n    }",
		},
		"new object": {
			"bash.shell", "zsh", "}, /* that is all */\n}",
			"}, /* that is all */\n    \"bash\": {\n        \"shell\": \"zsh\"\n    },\n}",
		},
		"element": {"permissions.allow[1]", "Bash(make *)", `"Bash(go *)" //`, `"Bash(make *)" //`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(userFile, handWritten)
			set(t, m, c.path, c.value, config.User)
			diff(t, "file", m.read(userFile), strings.Replace(handWritten, c.old, c.now, 1))
			m.load()
		})
	}
}

func TestUnsetRemovesTheKeyWithItsOwnComments(t *testing.T) {
	for name, c := range map[string]struct{ path, old, now string }{
		"first": {"model", "\n    // the good one\n    \"model\": \"sonnet\", // for now", ""},
		"last": {"permissions", handWritten[strings.Index(handWritten, "\n\n    \"perm"):strings.Index(handWritten,
			"\n}\n// the end")], ""},
		"last element": {"permissions.allow[1]", "\n            \"Bash(go *)\" // mostly", ""},
		"only element": {"permissions.deny.0", `["WebFetch"]`, `[]`},
		"unknown":      {"ourOwnKey.keep", `{"keep": [1, 2,]}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(userFile, handWritten)
			if err := m.load().Unset(c.path, config.User); err != nil {
				t.Fatal(err)
			}
			got := m.read(userFile)
			want := strings.Replace(handWritten, c.old, c.now, 1)
			// Whether a comma stays behind the member that is now last is a matter of taste.
			tidy := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, ",\n", "\n"), ", //", " //") }
			diff(t, "file", tidy(got), tidy(want))
			m.load()
		})
	}
	m := newMachine(t)
	diff(t, "absent", m.short(m.load().Unset("theme", config.User).Error()), userFile+
		": theme: this file does not set the key")
}

func TestSetMakesTheFileWithItsVersion(t *testing.T) {
	m := newMachine(t)
	set(t, m, "language", "Deutsch", config.User)
	diff(t, "file", m.read(userFile), "{\n  \"version\": 1,\n  \"language\": \"Deutsch\"\n}\n")
	set(t, m, "permissions.allow+", `["Read","Edit"]`, config.Project)
	diff(t, "project", m.read(projFile), "{\n  \"version\": 1,\n  \"permissions\": {\n    \"allow\": [\n      "+
		"\"Read\",\n      \"Edit\"\n    ]\n  }\n}\n")
	set(t, m, "theme", "dark", config.Local)
	diff(t, "hidden from git", m.read("home/proj/.lathe/.gitignore"), "/settings.local.json\n/.gitignore\n")
	c := m.load()
	diff(t, "settings", []string{c.Settings.Language, c.Settings.Theme}, []string{"Deutsch", "dark"})
}

func TestSetReadsTheValueAsWhatTheKeyTakes(t *testing.T) {
	for _, c := range []struct{ path, value, want string }{
		{"language", "true", `"true"`},
		{"language", `"quoted"`, `"quoted"`},
		{"debug", "true", `true`},
		{"maxTurns", "12", `12`},
		{"model", "4", `"4"`},
		{"fallbackModel", `["a","b"]`, `["a","b"]`},
		{"fallbackModel", `a`, `"a"`},
		{"env.FOO", "12", `"12"`},
		{`providers["my.corp"].type`, "openai", `"openai"`},
		{"hooks.Stop", `[{"hooks": []}]`, `[{"hooks":[]}]`},
		{"maxTurns", "{env:TURNS}", `7`},
		{"statusLine", `{"type":"command","command":"x, y: \"z\""}`, `{"type":"command","command":"x, y: \"z\""}`},
	} {
		m := newMachine(t)
		m.env("TURNS=7")
		set(t, m, c.path, c.value, config.User)
		got, _, _ := m.load().Get(c.path)
		if c.path == "env.FOO" {
			diff(t, c.path, m.load().Settings.Env["FOO"], "12")
			continue
		}
		diff(t, c.path, string(got), c.want)
	}
}

func TestSetRefusesWhatTheSchemaOrTheScopeForbids(t *testing.T) {
	for _, c := range []struct {
		path, value string
		scope       config.Layer
		want        string
	}{
		{"modle", "x", config.User, "modle: there is no such key; did you mean model?"},
		{"bash.shel", "x", config.User, "bash.shel: there is no such key; did you mean bash.shell?"},
		{"qqqqqqqqq", "x", config.User, "qqqqqqqqq: there is no such key; `lathe config schema` lists all keys"},
		{"effort", "lots", config.User, `effort: found "lots", allowed: "off", "low", "medium", "high", "xhigh", "max"`},
		{"maxTurns", "-1", config.User, `maxTurns: found -1, allowed: a whole number, at least 0`},
		{"model+", "x", config.User, "model: the key is not a list; leave out the +"},
		{
			"permissions.allow+", "Bash(", config.User,
			`permissions.allow[0]: found "Bash(", allowed: a rule: Tool or Tool(pattern) or an object`,
		},
		{"apiKeyHelper", "x", config.Project, "apiKeyHelper: a project may not set this; write it to your own settings, " +
			"with scope user"},
		{"env.HTTPS_PROXY", "x", config.Local, "env.HTTPS_PROXY: a project may not set this; write it to your own " +
			"settings, with scope user"},
		{"model", "x", config.Managed, "settings of the layer managed cannot be written; choose user, project or local"},
		{
			"a..b", "x", config.User,
			`a..b: a part of the key is empty; write keys with dots, as in permissions.allow, and quote odd ones: providers["my.corp"].apiBase`,
		},
		{"language", "{env:NOPE}", config.User, "language: {env:NOPE}: the variable is not set; set it, or take it out of " +
			"the file"},
	} {
		m := newMachine(t)
		err := m.load().Set(c.path, c.value, c.scope)
		if err == nil {
			t.Errorf("%s = %s was written", c.path, c.value)
			continue
		}
		diff(t, c.path, m.short(err.Error()), c.want)
		if _, err := os.Stat(m.path(userFile)); err == nil {
			t.Errorf("%s: a file was written all the same", c.path)
		}
	}
}

func TestScopesAreReadByTheirNames(t *testing.T) {
	for name, want := range map[string]config.Layer{
		"": config.User, "user": config.User, "project": config.Project,
		"local": config.Local,
	} {
		if got, err := config.ParseScope(name); err != nil || got != want {
			t.Errorf("%q is read as %v, %v", name, got, err)
		}
	}
	_, err := config.ParseScope("global")
	diff(t, "error", fmt.Sprint(err), `there is no scope "global"; choose user, project or local`)
}

func TestSetLeavesABrokenFileAlone(t *testing.T) {
	m := newMachine(t)
	c := m.load()
	m.write(userFile, `{"debug": tru`)
	err := c.Set("model", "x", config.User)
	diff(t, "error", m.short(fmt.Sprint(err)), userFile+":1:11: not valid JSON: invalid literal: tru")
	diff(t, "file", m.read(userFile), `{"debug": tru`)
	m.write(userFile, `{"debug": 7}`)
	err = c.Set("model", "x", config.User)
	diff(t, "error", m.short(fmt.Sprint(err)), userFile+`:1:11: debug: found 7, allowed: true or false`)
	if err := c.Set("debug", "true", config.User); err != nil {
		t.Errorf("the mistake cannot be mended: %v", err)
	}
}

func TestSetKeepsModeLinksLineEndsAndByteOrderMark(t *testing.T) {
	m := newMachine(t)
	real := m.write("home/dotfiles/lathe.json", "\xef\xbb\xbf{\r\n\t\"model\": \"x\"\r\n}\r\n")
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	m.mkdir("home/.config/lathe")
	if err := os.Symlink("../../dotfiles/lathe.json", m.path(userFile)); err != nil {
		t.Skip("no links here:", err)
	}
	set(t, m, "bash.shell", "zsh", config.User)
	diff(t, "text", m.read("home/dotfiles/lathe.json"),
		"\xef\xbb\xbf{\r\n\t\"model\": \"x\",\r\n\t\"bash\": {\r\n\t\t\"shell\": \"zsh\"\r\n\t}\r\n}\r\n")
	info, err := os.Stat(real)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "mode", info.Mode().Perm(), os.FileMode(0o640))
	if info, err := os.Lstat(m.path(userFile)); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	entries, _ := filepath.Glob(m.path("home/dotfiles/.*"))
	diff(t, "left over", entries, []string(nil))
}

func TestAProjectsFileThatLeadsOutsideIsNotWritten(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{}`)
	m.mkdir("home/proj/.lathe")
	if err := os.Symlink(m.path(userFile), m.path(localFile)); err != nil {
		t.Skip("no links here:", err)
	}
	err := m.load().Set("permissions.allow+", "Bash(*)", config.Local)
	diff(t, "error", m.short(fmt.Sprint(err)), localFile+": this is a link to "+userFile+
		", outside the project; replace it by a file")
	diff(t, "target", m.read(userFile), `{}`)
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	m := newMachine(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			c, err := config.Load(m.opts)
			if err == nil {
				err = c.Set("permissions.allow+", fmt.Sprintf("Bash(echo %d)", i), config.User)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	diff(t, "rules", len(m.load().Settings.Permissions.Allow), 20)
}

// TestKilledWritersLeaveAWholeFile kills processes that write settings in a loop.
func TestKilledWritersLeaveAWholeFile(t *testing.T) {
	m := newMachine(t)
	set(t, m, "language", "kept", config.User)
	for i := range 10 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHelperWriter$")
		cmd.Env = append(os.Environ(), "CONFIG_TEST_WRITER="+m.base)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		last := ""
		for n := 0; n < 3*i && lines.Scan(); n++ {
			last = lines.Text()
		}
		_ = cmd.Process.Kill()
		for lines.Scan() {
			last = lines.Text() // its output before it was killed
		}
		_ = cmd.Wait()
		s := m.load().Settings
		diff(t, "language", s.Language, "kept")
		if last != "" && !slices.Contains(s.Permissions.Allow, last) {
			t.Errorf("%s was reported as written and is lost", last)
		}
	}
	set(t, m, "language", "kept", config.User)
	left, _ := filepath.Glob(m.path("home/.config/lathe/.*"))
	diff(t, "left behind", left, []string(nil))
}

// TestHelperWriter is the process that is killed.
func TestHelperWriter(t *testing.T) {
	base := os.Getenv("CONFIG_TEST_WRITER")
	if base == "" {
		t.Skip("only as a helper")
	}
	home := filepath.Join(base, "home")
	for i := 0; ; i++ {
		c, err := config.Load(config.Options{
			Dir: filepath.Join(home, "proj"), Home: home, Environ: []string{},
			ManagedPaths: []string{},
		})
		rule := fmt.Sprintf("Bash(echo %d.%d)", os.Getpid(), i)
		if err == nil {
			err = c.Set("permissions.allow+", rule, config.User)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(rule)
	}
}

func TestAFullOrReadOnlyFolderIsOneClearError(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root writes everywhere")
	}
	m := newMachine(t)
	m.write(userFile, "{}")
	if err := os.Chmod(m.path("home/.config/lathe"), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(m.path("home/.config/lathe"), 0o700) })
	err := m.load().Set("model", "x", config.User)
	if err == nil || !strings.Contains(err.Error(), "cannot write the settings; the old ones are unchanged: ") {
		t.Error(err)
	}
}
