package oauth_test

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth"
	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth/oauthtest"
	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// The test starts itself as other processes, which begin when their input ends.
func TestRealProcessesRenewOnce(t *testing.T) {
	if server := os.Getenv("TEST_OAUTH_SERVER"); server != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		c := oauth.New(oauth.Options{Server: server, Store: keyring.Open(os.Getenv("TEST_OAUTH_FILE"), nil)})
		if status, err := call(t.Context(), server, c); err != nil || status != 200 {
			t.Errorf("status %d, %v", status, err)
		}
		return
	}
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	login(t, w.client(file, oauth.Preset{}))
	w.Expire()
	var all []*exec.Cmd
	var begin []io.Closer
	for range 4 {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestRealProcessesRenewOnce$")
		c.Env = append(os.Environ(), "TEST_OAUTH_SERVER="+w.URL(), "TEST_OAUTH_FILE="+file)
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		all, begin = append(all, c), append(begin, in)
	}
	for _, in := range begin {
		_ = in.Close()
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	if n := w.Exchanges(); n != 2 { // the login and one renewal; tokens rotate
		t.Errorf("the token endpoint was asked %d times", n)
	}
}
