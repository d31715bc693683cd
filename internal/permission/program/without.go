package program

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// The words that make a program that lists files leave out those of these names, in any folder.

// PathspecsWithout are words for git, after all others.
func PathspecsWithout(files, folders []string) []string {
	var out []string
	for _, name := range files {
		out = append(out, ":(top,exclude,glob)**/"+globEscape.Replace(name))
	}
	for _, name := range folders {
		out = append(out, ":(top,exclude,glob)**/"+globEscape.Replace(name)+"/**")
	}
	return out
}

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// PathspecsPast are words for git that leave out files and folders of these names, patterns with * and ?, in any case.
func PathspecsPast(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, ":(top,exclude,glob,icase)**/"+name, ":(top,exclude,glob,icase)**/"+name+"/**")
	}
	return out
}

// GlobsWithout are flags for ripgrep, after its other globs.
func GlobsWithout(files, folders []string) []string {
	var out []string
	for _, name := range slices.Concat(files, folders) {
		out = append(out, "--glob=!"+globEscape.Replace(name))
	}
	return out
}

// TestsWithout are tests for find, before its expression in brackets.
func TestsWithout(files, folders []string) []string {
	var out []string
	for _, name := range files {
		out = append(out, "!", "-name", globEscape.Replace(name))
	}
	for _, name := range folders {
		name = globEscape.Replace(name)
		out = append(out, "!", "-path", "*/"+name+"/*", "!", "-path", name+"/*")
	}
	return out
}

// PathspecsSecret are words for git that leave out the files of the past which guards keep from being read, in any
// case. templates: those like .env.example are shown. Patterns that begin with a star and have no other are fast.
func PathspecsSecret(templates bool) []string {
	files, env, folders := permission.SecretPatterns()
	if !templates {
		env = []string{".env.*"}
	}
	const left = ":(top,exclude,icase)"
	var out []string
	for _, name := range append(files, env...) {
		out = append(out, left+name)
		if !strings.HasPrefix(name, "*") {
			out = append(out, left+"*/"+name)
		}
	}
	for _, name := range folders {
		out = append(out, left+name+"/", left+"*/"+name+"/*")
	}
	return out
}
