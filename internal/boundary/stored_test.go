package boundary_test

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/boundary"
)

func TestStoredSecretsAreFound(t *testing.T) {
	p := newPlace(t)
	write(t, p.home+"/.netrc", "machine example.com login me password hunter2-hunter2\n")
	write(t, p.home+"/.git-credentials", "https://me:t0ken-of-mine@github.com\n")
	write(t, p.home+"/.npmrc", "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=npm_abcdefghijklmnop0123\n")
	write(t, p.home+"/.aws/credentials", "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n")
	write(t, p.home+"/.docker/config.json", `{"auths": {"https://index.docker.io/v1/": {"auth": "dXNlcjpwYXNzd29yZDEy"}}}`)
	got := boundary.StoredSecrets(p.home)
	for _, want := range []string{"hunter2-hunter2", "t0ken-of-mine", "npm_abcdefghijklmnop0123", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "dXNlcjpwYXNzd29yZDEy"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if all := boundary.StoredSecrets(p.dir); len(all) != 0 || boundary.StoredSecrets("") != nil {
		t.Errorf("found %q where there is nothing", all)
	}
}
