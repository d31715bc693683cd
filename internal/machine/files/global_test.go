package files

import (
	"path/filepath"
	"slices"
	"testing"
)

// owner makes a home folder of a user and returns it.
func owner(t *testing.T) string {
	t.Helper()
	home := realTemp(t)
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	return home
}

func TestTheUsersOwnIgnoreFileIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string // below the home folder
		want  string
	}{
		"none":             {nil, ""},
		"in its own place": {map[string]string{".config/git/ignore": "x\n"}, ".config/git/ignore"},
		"by ~/.gitconfig": {map[string]string{
			".gitconfig": "[user]\n\tname = x\n[core]\n\texcludesFile = ~/mine # here\n",
			"mine":       "x\n", ".config/git/ignore": "",
		}, "mine"},
		"in quotes":       {map[string]string{".gitconfig": "[Core]\nexcludesfile=\"~/my own\"\n", "my own": ""}, "my own"},
		"by git/config":   {map[string]string{".config/git/config": "[core]\nexcludesfile = ~/mine\n", "mine": ""}, "mine"},
		"that is missing": {map[string]string{".gitconfig": "[core]\nexcludesfile = ~/mine\n", ".config/git/ignore": ""}, ""},
		"of another kind": {map[string]string{".gitconfig": "[diff]\nexcludesfile = ~/mine\n", "mine": ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := owner(t)
			for file, text := range c.files {
				write(t, filepath.Join(home, file), text)
			}
			want := c.want
			if want != "" {
				want = filepath.Join(home, filepath.FromSlash(want))
			}
			if got := GlobalIgnore(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestTheUsersOwnIgnoreFileCountsLeast(t *testing.T) {
	home := owner(t)
	write(t, filepath.Join(home, ".config/git/ignore"), "*.log\n*.bak\n*.tmp\n*.old\nnotes/\n/top\n")
	dir := realTemp(t)
	for _, name := range []string{"a.log", "a.bak", "a.tmp", "a.old", "a.go", "sub/a.log", "sub/top", "top", "notes/x"} {
		write(t, filepath.Join(dir, name), "")
	}
	write(t, filepath.Join(dir, ".git/info/exclude"), "!a.old\n")
	write(t, filepath.Join(dir, ".gitignore"), "!a.bak\n")
	write(t, filepath.Join(dir, ".ignore"), "!a.tmp\n")
	got := walked(t, dir, WalkOptions{Ignore: true, Enter: enterSource})
	if want := []string{".gitignore", ".ignore", "a.bak", "a.go", "a.old", "a.tmp", "sub/top"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRgignoreBeatsIgnore(t *testing.T) {
	owner(t)
	dir := realTemp(t)
	write(t, filepath.Join(dir, ".ignore"), "a.txt\n!b.txt\n")
	write(t, filepath.Join(dir, ".rgignore"), "!a.txt\nb.txt\n")
	write(t, filepath.Join(dir, "sub/.ignore"), "!b.txt\n")
	for _, name := range []string{"a.txt", "b.txt", "sub/b.txt"} {
		write(t, filepath.Join(dir, name), "")
	}
	got := walked(t, dir, WalkOptions{Ignore: true})
	if want := []string{".ignore", ".rgignore", "a.txt", "sub/.ignore"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
