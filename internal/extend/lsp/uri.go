package lsp

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// uriOf is the file URI of an absolute path.
func uriOf(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/x
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// pathOf is the path of a file URI, "" for any other.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" ||
		strings.ContainsRune(u.Path, 0) {
		return ""
	}
	p := u.Path
	if runtime.GOOS == "windows" {
		p = strings.TrimPrefix(p, "/")
		if len(p) > 1 && p[1] == ':' {
			p = strings.ToUpper(p[:1]) + p[1:] // servers write the letter of a drive as they like
		}
	}
	return filepath.Clean(filepath.FromSlash(p))
}
