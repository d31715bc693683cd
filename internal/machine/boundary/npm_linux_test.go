//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
)

// packed is a package of npm's.
func packed(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for name, text := range map[string]string{
		"package.json": `{"name": "tiny", "version": "1.0.0"}`,
		"index.js":     `module.exports = "from the registry"`,
	} {
		if err := w.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNpmInstallsThroughTheProxy(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	file := packed(t)
	sum := sha512.Sum512(file)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/tiny":
			fmt.Fprintf(w,
				`{"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "tiny", "version": "1.0.0", "dist": {"tarball": "http://%s/tiny.tgz", "integrity": "sha512-%s"}}}}`,
				r.Host, base64.StdEncoding.EncodeToString(sum[:]))
		case "/tiny.tgz":
			_, _ = w.Write(file)
		default:
			http.NotFound(w, r)
		}
	}))
	defer registry.Close()
	p := newPlace(t)
	write(t, p.dir+"/package.json", `{"name": "x", "version": "1.0.0"}`)
	b := p.open(t, `{"enabled": true, "network": {"allowedDomains": ["127.0.0.1"]}}`)
	// The registry is on this machine's loopback, for which programs otherwise leave the proxy out.
	line := "NO_PROXY= no_proxy= npm install --no-audit --no-fund --no-update-notifier --registry " + registry.URL +
		" tiny && node -p 'require(\"tiny\")'"
	if out, why := runWith(t, b, p.dir, line, boundary.Network{}); !strings.Contains(out, "from the registry") {
		t.Errorf("%s %s", out, why)
	}
	if _, err := os.Stat(p.dir + "/node_modules/tiny/index.js"); err != nil {
		t.Error(err)
	}
}
