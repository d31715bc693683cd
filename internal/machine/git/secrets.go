package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Secrets names the keys whose values hold credentials in the configuration that git would use in dir: the
// repository's, that of the user with this home, the machine's, and all that these include, under whatever
// condition. No process is started. The error says why that cannot be told.
func Secrets(dir, home string) ([]string, error) {
	r := secretReader{home: home, seen: map[string]bool{}}
	repo, bare := findAny(dir)
	if bare != "" {
		return nil, fmt.Errorf("git would take %s for a repository, although it has no .git", bare)
	}
	paths := []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"}
	if home != "" {
		paths = append(paths, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"))
	}
	if repo.Root != "" {
		paths = append(paths, filepath.Join(repo.CommonDir, "config"), filepath.Join(repo.GitDir, "config.worktree"))
	}
	for _, path := range paths {
		if err := r.read(path); err != nil {
			return nil, err
		}
	}
	return r.keys, nil
}

// secretReader goes through files and their includes.
type secretReader struct {
	home string
	seen map[string]bool
	keys []string
}

// maxIncluded is how many files are followed.
const maxIncluded = 30

func (r *secretReader) read(path string) error {
	if r.seen[path] {
		return nil
	}
	if r.seen[path] = true; len(r.seen) > maxIncluded {
		return errors.New("git's configuration includes too many files")
	}
	b, err := readSmall(path, 256<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("git's configuration cannot be read: %w", err)
	}
	settings, err := parseConfig(string(b))
	if err != nil {
		return fmt.Errorf("git's configuration %s cannot be read: %w", path, err)
	}
	for _, s := range settings {
		section, _, _ := strings.Cut(s.key, ".")
		if (section == "include" || section == "includeif") && strings.HasSuffix(s.key, ".path") && s.value != "" {
			if err := r.read(r.included(path, s.value)); err != nil {
				return err
			}
		}
		if holdsCredentials(s) && !slices.Contains(r.keys, keyName(s.key)) {
			r.keys = append(r.keys, keyName(s.key))
		}
	}
	return nil
}

func (r *secretReader) included(from, name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(r.home, rest)
	}
	return absolute(filepath.Dir(from), name)
}

// secretAddress is an address with a password, or with a name that is long enough to be a token.
var secretAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[a-z][a-z0-9+-]*://([^/@\s:]*:[^/@\s]+|[^/@\s]{20,})@`)
})

// secretWords are parts of the last word of a key, secretValues of a value, all in small letters.
var (
	secretWords  = []string{"extraheader", "password", "passwd", "pass", "token", "secret", "apikey", "credential"}
	secretValues = []string{
		"authorization", "bearer ", "password", "passwd", "token=", "secret=", "ghp_", "gho_", "ghs_",
		"github_pat_", "glpat-", "xoxb-", "xoxp-",
	}
)

func holdsCredentials(s setting) bool {
	last := strings.ToLower(s.key[strings.LastIndexByte(s.key, '.')+1:])
	value := strings.ToLower(s.value)
	return s.value != "" && !boolean(s.value) && slices.ContainsFunc(secretWords,
		func(w string) bool { return strings.Contains(last, w) }) ||
		slices.ContainsFunc(secretValues, func(w string) bool { return strings.Contains(value, w) }) ||
		secretAddress().MatchString(s.value) || secretAddress().MatchString(s.key)
}

// keyName is a key without a password in it, for a message.
func keyName(key string) string { return secretAddress().ReplaceAllString(key, "...@") }
