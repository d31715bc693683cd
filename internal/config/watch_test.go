package config_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type update struct {
	config  *config.Config
	changes []config.Change
}

// watch starts Watch and returns its reports.
func (m *machine) watch(c *config.Config) <-chan update {
	m.t.Helper()
	updates := make(chan update, 16)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- c.Watch(ctx, func(c *config.Config, changes []config.Change) { updates <- update{c, changes} })
	}()
	m.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Errorf("Watch: %v", err)
		}
	})
	return updates
}

// next waits for an update that ok accepts; events may arrive in several batches.
func next(t *testing.T, updates <-chan update, ok func(update) bool) update {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case u := <-updates:
			if ok(u) {
				return u
			}
		case <-deadline:
			t.Fatal("no such update came")
		}
	}
}

func theme(want string) func(update) bool {
	return func(u update) bool { return u.config.Settings.Theme == want }
}

// swap replaces a file atomically, as some editors do.
func (m *machine) swap(rel, text string) {
	m.t.Helper()
	if err := os.Rename(m.write(rel+".tmp", text), m.path(rel)); err != nil {
		m.t.Fatal(err)
	}
}

func quick(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t)
	m.opts.Debounce = 5 * time.Millisecond
	return m
}

func TestAChangeIsReloadedHoweverItIsSaved(t *testing.T) {
	m := quick(t)
	m.write(userFile, `{"theme": "one"}`)
	updates := m.watch(m.load())
	m.write(userFile, `{"theme": "two"}`)
	u := next(t, updates, theme("two"))
	diff(t, "change", []string{
		u.changes[0].Path, string(u.changes[0].Old), string(u.changes[0].New),
		m.short(u.changes[0].Origin.String()),
	},
		[]string{"theme", `"one"`, `"two"`, userFile + ":1:11"})
	m.swap(userFile, `{"theme": "three"}`)
	next(t, updates, theme("three"))
	set(t, m, "theme", "four", config.User)
	next(t, updates, theme("four"))
	if err := os.Remove(m.path(userFile)); err != nil {
		t.Fatal(err)
	}
	next(t, updates, theme("auto"))
	m.write(userFile, `{"theme": "five"}`)
	next(t, updates, theme("five"))
}

// An emptied or broken file drops no rule: the last good settings stay in force, and the mistake is reported.
func TestRulesStayWhenTheirFileCannotBeReadAnyMore(t *testing.T) {
	const good = `{"theme": "one", "permissions": {"deny": ["Bash(rm *)"]}}`
	for text, want := range map[string]string{
		``:                                      "the file is empty",
		`{"permissions": {"deny": ["Bash(rm *"`: "not valid JSON",
		`{"permissions": {"deny": ["Bash(rm *"]}}`: "permissions.deny[0]",
		`{"permissions": {"denny": ["Bash"]}}`:     "did you mean deny?",
	} {
		m := quick(t)
		m.write(userFile, good)
		updates := m.watch(m.load())
		m.write(userFile, text)
		u := next(t, updates, func(u update) bool {
			return len(u.changes) == 1 && u.changes[0].Err != nil && strings.Contains(u.changes[0].Err.Error(), want)
		})
		diff(t, "rules", u.config.Settings.Permissions.Deny, []string{"Bash(rm *)"})
		m.write(userFile, strings.ReplaceAll(good, "one", "two"))
		diff(t, "afterwards", next(t, updates, theme("two")).config.Settings.Permissions.Deny, []string{"Bash(rm *)"})
	}
}

func TestFilesAndFoldersThatAppearLaterAreSeen(t *testing.T) {
	m := quick(t)
	updates := m.watch(m.load())
	m.write(localFile, `{"theme": "local"}`) // creates .lathe, too
	next(t, updates, theme("local"))
	m.write("etc/lathe/managed-settings.d/1.json", `{"theme": "drop-in"}`) // creates three folders
	next(t, updates, theme("drop-in"))
	m.write("etc/lathe/managed-settings.d/2.json", `{"theme": "second"}`)
	next(t, updates, theme("second"))
	if err := os.RemoveAll(m.path("etc/lathe")); err != nil {
		t.Fatal(err)
	}
	next(t, updates, theme("local"))
	m.write(managed, `{"theme": "again"}`)
	next(t, updates, theme("again"))
}

func TestAFolderThatIsReplacedIsStillWatched(t *testing.T) {
	m := quick(t)
	m.write(projFile, `{"theme": "one"}`)
	m.write("home/proj/next/settings.json", `{"theme": "two"}`)
	updates := m.watch(m.load())
	for _, mv := range [][2]string{{"home/proj/.lathe", "home/proj/old"}, {"home/proj/next", "home/proj/.lathe"}} {
		if err := os.Rename(m.path(mv[0]), m.path(mv[1])); err != nil {
			t.Fatal(err)
		}
	}
	next(t, updates, theme("two"))
	m.write(projFile, `{"theme": "three"}`)
	next(t, updates, theme("three"))
}

func TestAFileBehindALinkIsSeen(t *testing.T) {
	m := quick(t)
	m.write("home/dotfiles/lathe.json", `{"theme": "one"}`)
	m.mkdir("home/.config/lathe")
	if err := os.Symlink(m.path("home/dotfiles/lathe.json"), m.path(userFile)); err != nil {
		t.Skip("no links here:", err)
	}
	updates := m.watch(m.load())
	m.write("home/dotfiles/lathe.json", `{"theme": "two"}`)
	next(t, updates, theme("two"))
}

func TestTheModelCountsFromTheNextStartAndTheStyleAtOnce(t *testing.T) {
	m := quick(t)
	m.write(userFile, `{"model": "one", "outputStyle": "plain"}`)
	updates := m.watch(m.load())
	m.swap(userFile, `{"model": "two", "theme": "x"}`)
	u := next(t, updates, theme("x"))
	diff(t, "settings", []string{u.config.Settings.Model, u.config.Settings.OutputStyle}, []string{"one", ""})
	diff(t, "origin", m.origin(u.config, "model"), userFile+":1:11")
	var got []string
	for _, c := range u.changes {
		if c.AtStart {
			got = append(got, c.Path+" "+string(c.Old)+" "+string(c.New))
		}
	}
	slices.Sort(got)
	diff(t, "at start", got, []string{`model "one" "two"`})
	m.swap(userFile, `{"model": "two", "theme": "y"}`)
	u = next(t, updates, theme("y"))
	diff(t, "not reported again", len(u.changes), 1)
	diff(t, "model", u.config.Settings.Model, "one")
}

func TestABadEditKeepsTheLastGoodConfiguration(t *testing.T) {
	m := quick(t)
	m.write(userFile, `{"theme": "good"}`)
	updates := m.watch(m.load())
	m.swap(userFile, `{"theme": 7}`)
	u := next(t, updates, func(u update) bool { return len(u.changes) == 1 && u.changes[0].Err != nil })
	diff(t, "kept", u.config.Settings.Theme, "good")
	diff(t, "error", m.short(u.changes[0].Err.Error()), userFile+
		":1:11: theme: found 7, allowed: a string that is not empty")
	m.swap(userFile, `{"theme": "good"}`)
	u = next(t, updates, func(u update) bool { return len(u.changes) == 0 })
	diff(t, "recovered", u.config.Settings.Theme, "good")
}

func TestOnlyNewWarningsAreTold(t *testing.T) {
	m := quick(t)
	m.write(userFile, `{"theme": "a", "odd": 1}`)
	c := m.load()
	diff(t, "at first", len(c.Warnings), 1)
	updates := m.watch(c)
	m.swap(userFile, `{"theme": "b", "odd": 1}`)
	diff(t, "known", len(next(t, updates, theme("b")).config.Warnings), 0)
	m.swap(userFile, `{"theme": "c", "odd": 1, "odder": 1}`)
	diff(t, "new", len(next(t, updates, theme("c")).config.Warnings), 1)
}

func TestSecretsAreMaskedInChanges(t *testing.T) {
	m := quick(t)
	updates := m.watch(m.load())
	m.swap(userFile, `{"theme": "x", "providers": {"p": {"apiKey": "sk-abcdefghijklmnop-1234"}}}`)
	u := next(t, updates, theme("x"))
	diff(t, "shown", string(u.changes[1].New), `"***1234"`)
	diff(t, "real", u.config.Settings.Providers["p"].APIKey, "sk-abcdefghijklmnop-1234")
}

func TestTheOrganisationsDocumentIsRefreshedWhileWatching(t *testing.T) {
	s := newOrgServer(t, `{"theme": "old"}`)
	m := quick(t)
	m.env("LATHE_ORG_URL=" + s.URL)
	c := m.load()
	m.age()
	s.serve(200, `{"theme": "newer"}`)
	next(t, m.watch(c), theme("newer"))
}

// What a project's held values do to bypassPermissions is news, though no setting in force changes.
func TestAProtectionThatIsHeldBackIsNews(t *testing.T) {
	m := quick(t)
	m.write(projFile, `{}`)
	updates := m.watch(m.load())
	m.write(projFile, `{"sandbox": {"enabled": true}}`)
	next(t, updates, func(u update) bool { return u.config.BypassForbidden() != nil })
	m.write(projFile, `{}`)
	next(t, updates, func(u update) bool { return u.config.BypassForbidden() == nil })
}
