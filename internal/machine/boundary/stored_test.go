package boundary_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
)

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestStoredSecretsAreFound(t *testing.T) {
	home := t.TempDir()
	put(t, home+"/.netrc", "machine example.com login me password hunter2-hunter2\n")
	put(t, home+"/.git-credentials", "https://me:t0ken-of-mine@github.com\n")
	put(t, home+"/.npmrc",
		"registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=npm_abcdefghijklmnop0123\n")
	put(t, home+"/.aws/credentials", "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = "+
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n")
	put(t, home+"/.docker/config.json", `{"auths": {"https://index.docker.io/v1/": {"auth": "dXNlcjpwYXNzd29yZDEy"}}}`)
	got := boundary.StoredSecrets(home)
	for _, want := range []string{
		"hunter2-hunter2", "t0ken-of-mine", "npm_abcdefghijklmnop0123",
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "dXNlcjpwYXNzd29yZDEy",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if all := boundary.StoredSecrets(t.TempDir()); len(all) != 0 || boundary.StoredSecrets("") != nil {
		t.Errorf("found %q where there is nothing", all)
	}
}
