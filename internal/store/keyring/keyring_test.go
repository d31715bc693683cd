package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// ring is a keyring of an operating system with a limit of length, as macOS and Windows have one.
type ring struct {
	secrets map[string]string
	longest int
	fails   error
	asked   int
}

func (r *ring) Get(service, account string) (string, error) {
	r.asked++
	secret, ok := r.secrets[service+"/"+account]
	if !ok {
		return "", keyring.ErrNotFound
	}
	return secret, r.fails
}

func (r *ring) Set(service, account, secret string) error {
	if r.fails != nil {
		return r.fails
	}
	if len(secret) > r.longest {
		return errors.New("too long")
	}
	r.secrets[service+"/"+account] = secret
	return nil
}

func (r *ring) Delete(service, account string) error {
	if _, ok := r.secrets[service+"/"+account]; !ok {
		return keyring.ErrNotFound
	}
	delete(r.secrets, service+"/"+account)
	return r.fails
}

func want(t *testing.T, s *keyring.Store, account, secret string) {
	t.Helper()
	got, err := s.Get("mcp", account)
	if secret == "" && errors.Is(err, keyring.ErrNotFound) {
		return
	}
	if err != nil || got != secret {
		t.Errorf("%s: %q, %v; want %q", account, got, err, secret)
	}
}

func set(t *testing.T, s *keyring.Store, account, secret string) bool {
	t.Helper()
	in, err := s.Set("mcp", account, secret)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestSecretsAreInTheFileWhereThereIsNoKeyring(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "credentials.json")
	s := keyring.Open(file, nil)
	want(t, s, "a", "")
	if set(t, s, "a", "one") || set(t, s, "b", "two") {
		t.Error("there is no system that could have taken it")
	}
	set(t, s, "a", "three")
	again := keyring.Open(file, nil)
	want(t, again, "a", "three")
	want(t, again, "b", "two")
	if st, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if err := again.Delete("mcp", "a"); err != nil {
		t.Error(err)
	}
	want(t, s, "a", "")
	if err := s.Delete("mcp", "never"); err != nil {
		t.Error(err)
	}
	if names, err := s.Accounts("mcp"); err != nil || len(names) != 1 || names[0] != "b" {
		t.Error(names, err)
	}
}

func TestTheKeyringHasTheSecretAndTheFileHasNot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	r := &ring{secrets: map[string]string{}, longest: 10}
	s := keyring.Open(file, r)
	want(t, s, "a", "")
	if r.asked != 0 {
		t.Error("the keyring was asked for a secret that nobody kept")
	}
	if !set(t, s, "a", "hidden") {
		t.Error("it is not in the keyring")
	}
	want(t, s, "a", "hidden")
	if !s.InSystem("mcp", "a") || s.InSystem("mcp", "b") {
		t.Error("the store does not know what the keyring has")
	}
	if data, _ := os.ReadFile(file); strings.Contains(string(data), "hidden") || r.secrets["lathe:mcp/a"] != "hidden" {
		t.Errorf("%s, %v", data, r.secrets)
	}
	if _, err := keyring.Open(file, nil).Get("mcp", "a"); err == nil || errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("a keyring that cannot be reached looks as if there were no secret: %v", err)
	}
	if err := s.Delete("mcp", "a"); err != nil || len(r.secrets) != 0 {
		t.Error(err, r.secrets)
	}
}

func TestASecretThatTheKeyringRefusesIsInTheFile(t *testing.T) {
	r := &ring{secrets: map[string]string{}, longest: 10}
	s := keyring.Open(filepath.Join(t.TempDir(), "c.json"), r)
	set(t, s, "a", "short")
	long := strings.Repeat("x", 11)
	if set(t, s, "a", long) {
		t.Error("too long, and yet taken")
	}
	want(t, s, "a", long)
	r.fails = errors.New("locked")
	set(t, s, "a", "new")
	want(t, s, "a", "new")
}

func TestADamagedFileIsNotOverwrittenNorQuoted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(file, []byte(`{"mcp":{"a":{"secret":"s3cret`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := keyring.Open(file, nil)
	_, err := s.Set("mcp", "b", "x")
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	if data, _ := os.ReadFile(file); !strings.Contains(string(data), "s3cret") {
		t.Error("what was there is lost")
	}
}

func TestSeveralWritersLoseNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	var wg sync.WaitGroup
	for i := range 20 {
		// each store has its own lock, as each process has
		wg.Go(func() { set(t, keyring.Open(file, nil), fmt.Sprint(i), "x") })
	}
	wg.Wait()
	if names, err := keyring.Open(file, nil).Accounts("mcp"); err != nil || len(names) != 20 {
		t.Error(len(names), err)
	}
}

func TestANamedLockHoldsOthersOff(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	unlock, err := keyring.Open(file, nil).Lock(t.Context(), "refresh")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := keyring.Open(file, nil).Lock(ctx, "refresh"); err == nil {
		t.Error("two have the lock")
	}
	unlock()
	other, err := keyring.Open(file, nil).Lock(t.Context(), "refresh")
	if err != nil {
		t.Fatal(err)
	}
	other()
}

func TestWithoutABusThereIsNoKeyring(t *testing.T) {
	if got := keyring.OS(func(string) string { return "file" }); got != nil {
		t.Error("LATHE_KEYRING=file does not count")
	}
	if runtime.GOOS == "linux" && keyring.OS(func(string) string { return "" }) != nil {
		t.Error("a keyring without a session bus")
	}
}
