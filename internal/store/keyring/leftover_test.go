package keyring_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/keyring"
)

func TestASecretThatWasReplacedInTheFileDoesNotOutliveItInTheKeyring(t *testing.T) {
	r := &ring{secrets: map[string]string{}, longest: 10}
	s := keyring.Open(filepath.Join(t.TempDir(), "c.json"), r)
	set(t, s, "a", "short")
	set(t, s, "a", strings.Repeat("x", 11))
	if len(r.secrets) != 0 {
		t.Errorf("the keyring still has %v", r.secrets)
	}
}

// A keyring that is locked keeps the older secret; the next one that can be reached forgets it with the newer one.
func TestDeleteAlsoForgetsWhatALockedKeyringKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	r := &ring{secrets: map[string]string{}, longest: 10}
	s := keyring.Open(file, r)
	set(t, s, "a", "short")
	set(t, keyring.Open(file, nil), "a", "new")
	want(t, s, "a", "new")
	if r.secrets["lathe:mcp/a"] != "short" {
		t.Fatal("the keyring was changed without being there")
	}
	if err := keyring.Open(file, nil).Delete("mcp", "a"); err == nil || !strings.Contains(err.Error(),
		"the keyring of the operating system, which cannot be reached from here; log out again") {
		t.Errorf("a secret that stays in the keyring: %v", err)
	}
	want(t, s, "a", "")
	if names, err := s.Accounts("mcp"); err != nil || len(names) != 0 {
		t.Errorf("%q, %v: it has no secret", names, err)
	}
	if err := s.Delete("mcp", "a"); err != nil || len(r.secrets) != 0 {
		t.Errorf("%v, the keyring still has %v", err, r.secrets)
	}
}

func TestDeleteWithoutTheKeyringSaysThatTheSecretStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	r := &ring{secrets: map[string]string{}, longest: 10}
	s := keyring.Open(file, r)
	set(t, s, "a", "short")
	if err := keyring.Open(file, nil).Delete("mcp", "a"); err == nil {
		t.Error("no error, and the secret is still in the keyring")
	}
	want(t, s, "a", "short")
}

func TestASecretThatTheFileCannotNameIsNotLeftInTheKeyring(t *testing.T) {
	dir := t.TempDir()
	r := &ring{secrets: map[string]string{}, longest: 10}
	s := keyring.Open(filepath.Join(dir, "c.json"), r)
	if err := os.Mkdir(filepath.Join(dir, "c.json"), 0o700); err != nil { // which no file can replace
		t.Fatal(err)
	}
	if _, err := s.Set("mcp", "a", "short"); err == nil || len(r.secrets) != 0 {
		t.Errorf("%v, the keyring has %v", err, r.secrets)
	}
}

// dying is a keyring whose caller is killed once it has the secret.
type dying struct{ *ring }

func (d dying) Set(service, account, secret string) error {
	_ = d.ring.Set(service, account, secret)
	panic("killed")
}

func TestASecretOfAKilledLoginIsForgottenByTheNextLogout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	r := &ring{secrets: map[string]string{}, longest: 10}
	func() {
		defer func() { _ = recover() }()
		_, _ = keyring.Open(file, dying{r}).Set("mcp", "a", "short")
	}()
	s := keyring.Open(file, r)
	if _, err := s.Get("mcp", "a"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the login was not finished: %v", err)
	}
	if err := s.Delete("mcp", "a"); err != nil || len(r.secrets) != 0 {
		t.Errorf("%v, the keyring has %v", err, r.secrets)
	}
}
