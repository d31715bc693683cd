package boundary

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// credentialFiles are the small text files of a home folder in which programs keep tokens and passwords.
var credentialFiles = [...]string{
	".netrc", ".git-credentials", ".config/git/credentials", ".npmrc", ".pypirc", ".aws/credentials",
	".config/gh/hosts.yml",
	".docker/config.json", ".cargo/credentials.toml", ".gem/credentials", ".claude/.credentials.json", ".codex/auth.json",
}

// storedSecret finds passwords by the word before them, and long words of the form of a token.
var storedSecret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)(?:password|passwd|token|secret|auth|://[^\s:/@]*)["']?[ \t]*[:=\s][ \t]*["']?([^\s"'@,{}]{8,})|\b([A-Za-z0-9_+/~-]{24,})`)
})

// StoredSecrets returns the likely secrets in the credential files of a home folder. Files that cannot be read have
// none.
func StoredSecrets(home string) (out []string) {
	if home == "" {
		return nil
	}
	for _, name := range credentialFiles {
		for _, m := range storedSecret().FindAllStringSubmatch(smallText(filepath.Join(home, name)), -1) {
			for _, s := range m[1:] {
				if s != "" {
					out = append(out, strings.TrimSuffix(s, ";"))
				}
			}
		}
	}
	return out
}

// smallText returns the text of a regular file, "" for anything else and for one above 64 KiB.
func smallText(name string) string {
	if fi, err := os.Stat(name); err != nil || !fi.Mode().IsRegular() || fi.Size() > 64<<10 {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return ""
	}
	return string(b)
}
