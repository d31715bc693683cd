package git

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Attributes are a file of attributes (gitattributes(5)) with which git shows no text of some files in differences,
// also in those of commits of the past: it prints that binary files differ. The patterns are those of gitignore(5). own
// is the text of the user's file, which stays in force.
func Attributes(own string, hidden, shown []string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(own, "\n") + "\n")
	for _, pattern := range hidden {
		b.WriteString(pattern + " -diff\n")
	}
	for _, pattern := range shown {
		b.WriteString(pattern + " !diff\n")
	}
	return b.String()
}

// OwnAttributes is the text of the user's file of attributes, "" where there is none.
func OwnAttributes(home string) string {
	path := filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "attributes")
	if config, err := readSmall(filepath.Join(home, ".gitconfig"), maxConfig); err == nil {
		settings, _ := parseConfig(string(config))
		for _, s := range settings {
			if s.key == "core.attributesfile" && s.value != "" {
				path = absolute(home, strings.TrimPrefix(s.value, "~/"))
			}
		}
	}
	text, err := readSmall(path, maxConfig)
	if err != nil {
		return ""
	}
	return string(text)
}

const maxConfig = 256 << 10 // bytes

// WithConfig returns environ with a setting of git's, after those that it has already.
func WithConfig(environ []string, key, value string) []string {
	n := 0
	for _, kv := range environ {
		if count, ok := strings.CutPrefix(kv, "GIT_CONFIG_COUNT="); ok {
			n, _ = strconv.Atoi(count)
		}
	}
	out := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_CONFIG_COUNT=")
	})
	return append(out, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+1), fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key),
		fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
}
