//go:build linux

package keyring_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// theKeyring marks the child process of the test, which runs on its own bus.
const theKeyring = "LATHE_TEST_REAL_KEYRING"

// TestARealKeyringKeepsSecrets starts a session bus and an unlocked GNOME keyring for itself, in an empty home, so that
// the user's own keyring is not touched.
func TestARealKeyringKeepsSecrets(t *testing.T) {
	if os.Getenv(theKeyring) != "" {
		keepInReal(t)
		return
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	home := t.TempDir()
	c := exec.CommandContext(t.Context(), "dbus-run-session", "--", "sh", "-c",
		`printf pass | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$0" -test.run '^TestARealKeyringKeepsSecrets$' -test.v`, os.Args[0])
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "XDG_DATA_HOME=" +
		filepath.Join(home, "data"), theKeyring + "=1"}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestARealKeyringKeepsSecrets") {
		t.Errorf("%v\n%s", err, out)
	}
}

func keepInReal(t *testing.T) {
	system := keyring.OS(os.Getenv)
	if system == nil {
		t.Fatal("a session bus, and yet no keyring")
	}
	file := filepath.Join(t.TempDir(), "c.json")
	s := keyring.Open(file, system)
	long := strings.Repeat("s3cret", 2000) // a login with its tokens is long
	for account, secret := range map[string]string{"https://a.example/mcp": long, "b": "ü\n\"s3cret\""} {
		if !set(t, s, account, secret) {
			t.Fatalf("the keyring did not take the secret of %s", account)
		}
		want(t, keyring.Open(file, system), account, secret)
	}
	set(t, s, "b", "s3cret again")
	want(t, s, "b", "s3cret again")
	if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "s3cret") {
		t.Errorf("the file has what the keyring keeps: %s, %v", data, err)
	}
	held, err := system.Get("lathe:mcp", "b")
	if err != nil || held != "s3cret again" {
		t.Errorf("%q, %v", held, err)
	}
	if err := s.Delete("mcp", "b"); err != nil {
		t.Error(err)
	}
	if _, err := system.Get("lathe:mcp", "b"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("a deleted secret is still there: %v", err)
	}
	want(t, s, "https://a.example/mcp", long)
}
