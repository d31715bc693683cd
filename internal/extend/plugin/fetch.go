package plugin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Bounds of a plugin.
const (
	mostFiles    = 10_000
	mostBytes    = 200 << 20
	fetchTimeout = 5 * time.Minute
)

// fetcher brings a source into a folder.
type fetcher struct {
	runner  *sandbox.Runner
	environ func() []string
	temp    string // the folder for unfinished fetches
}

// fetched is a source in its own folder, which drop removes.
type fetched struct {
	dir    string
	commit string // of a repository
	drop   func()
}

func (f *fetcher) fetch(ctx context.Context, s Source) (fetched, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("it took longer than %v", fetchTimeout))
	defer cancel()
	switch s.Kind {
	case "directory", "path":
		return fetched{dir: s.Path, drop: func() {}}, nil
	case "github":
		if strings.HasPrefix(s.Repo, "-") || strings.Count(s.Repo, "/") != 1 {
			return fetched{}, fmt.Errorf("%q is no owner/repository", s.Repo)
		}
		return f.clone(ctx, "https://github.com/"+strings.TrimSuffix(s.Repo, ".git")+".git", s, "")
	case "git", "url":
		return f.clone(ctx, s.URL, s, "")
	case "git-subdir":
		url := s.URL
		if strings.Count(url, "/") == 1 && !strings.Contains(url, ":") {
			url = "https://github.com/" + url + ".git"
		}
		return f.clone(ctx, url, s, s.Path)
	case "npm":
		return f.npm(ctx, s)
	case "archive":
		return f.archive(ctx, s)
	case "command":
		return fetched{}, errors.New("it is fetched by a command of the marketplace, which lathe does not run before you " +
			"have seen the plugin")
	}
	return fetched{}, fmt.Errorf("the source %q is not known; there are path, github, url, git-subdir, npm and archive",
		s.Kind)
}

// clone fetches one commit of a repository. Hooks, submodules and programs of the repository do not run.
func (f *fetcher) clone(ctx context.Context, url string, s Source, sub string) (out fetched, err error) {
	if err := checkURL(url); err != nil {
		return out, err
	}
	at := s.SHA
	if at == "" {
		at = s.Ref
	}
	if strings.HasPrefix(at, "-") {
		return out, fmt.Errorf("%q is no commit, branch or tag", at)
	}
	dir, drop, err := f.folder()
	if err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			drop()
		}
	}()
	if at == "" {
		at = "HEAD"
	}
	if _, err := f.git(ctx, dir, "init", "-q"); err != nil {
		return out, err
	}
	if _, err = f.git(ctx, dir, "fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", url, at); err == nil {
		_, err = f.git(ctx, dir, "checkout", "-q", "--detach", "FETCH_HEAD")
	} else if s.SHA != "" { // a server that gives no single commits
		if _, err = f.git(ctx, dir, "fetch", "-q", "--no-recurse-submodules", url, "+refs/heads/*:refs/remotes/o/*",
			"+refs/tags/*:refs/tags/*"); err == nil {
			_, err = f.git(ctx, dir, "checkout", "-q", "--detach", s.SHA)
		}
	}
	if err != nil {
		return out, fmt.Errorf("%s cannot be fetched: %w", url, err)
	}
	commit, err := f.git(ctx, dir, "rev-parse", "HEAD")
	if err != nil {
		return out, err
	}
	if s.SHA != "" && !strings.HasPrefix(commit, s.SHA) {
		return out, fmt.Errorf("%s gave the commit %s instead of %s", url, commit, s.SHA)
	}
	root, err := inside(dir, filepath.Join(dir, filepath.FromSlash(sub)))
	return fetched{dir: root, commit: commit, drop: drop}, err
}

// git runs git with the user's credentials, and without the repository's programs and without prompts.
func (f *fetcher) git(ctx context.Context, dir string, args ...string) (string, error) {
	return f.program(ctx, dir, append([]string{
		"git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never",
		"-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false", "-c", "submodule.recurse=false",
	}, args...))
}

func (f *fetcher) program(ctx context.Context, dir string, argv []string) (string, error) {
	env := slices.DeleteFunc(slices.Clone(f.environ()),
		func(kv string) bool { return strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "GIT_SSH") })
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1")
	var out, errOut bytes.Buffer
	exit, err := f.runner.Run(ctx, sandbox.Spec{
		Argv: argv, Dir: dir, Env: env, Stdout: &bounded{&out},
		Stderr: &bounded{&errOut},
	})
	if err != nil {
		return "", err
	}
	if exit.Code != 0 {
		return "", fmt.Errorf("%s: %s", argv[0], strings.TrimSpace(errOut.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// bounded keeps the beginning of an output.
type bounded struct{ *bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, 64<<10-b.Len()))])
	return len(p), nil
}

// npm takes addresses and folders in the place of names, and runs git and scripts for them.
var (
	packageName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~_][a-z0-9._~-]*$`)
	})
	packageVersion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[\^~=v]?[0-9][0-9A-Za-z.+-]*|[a-z][a-z0-9-]*)$`)
	})
)

// npm fetches a package of a registry without running its scripts.
func (f *fetcher) npm(ctx context.Context, s Source) (out fetched, err error) {
	if !packageName().MatchString(s.Package) || s.Version != "" && !packageVersion().MatchString(s.Version) {
		return out, fmt.Errorf("%q is no package of a registry; of folders and repositories npm would run programs",
			s.Package+"@"+s.Version)
	}
	dir, drop, err := f.folder()
	if err != nil {
		return out, err
	}
	name := s.Package
	if s.Version != "" {
		name += "@" + s.Version
	}
	argv := []string{"npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", dir, name}
	if s.Registry != "" {
		argv = append(argv, "--registry", s.Registry)
	}
	file, err := f.program(ctx, dir, argv)
	if err == nil {
		var data []byte
		if data, err = os.ReadFile(filepath.Join(dir, filepath.Base(file))); err == nil {
			err = untar(data, filepath.Join(dir, "x"))
		}
	}
	if err != nil {
		drop()
		return out, fmt.Errorf("the package %s cannot be fetched: %w", name, err)
	}
	return fetched{dir: filepath.Join(dir, "x", "package"), drop: drop}, nil
}

// archive fetches a tar.gz whose SHA-256 the marketplace names.
func (f *fetcher) archive(ctx context.Context, s Source) (out fetched, err error) {
	data, err := get(ctx, s.URL, mostBytes)
	if err != nil {
		return out, err
	}
	if sum := sha256.Sum256(data); s.SHA256 == "" || hex.EncodeToString(sum[:]) != strings.ToLower(s.SHA256) {
		return out, fmt.Errorf("%s does not have the sha256 that the marketplace names (%q)", s.URL, s.SHA256)
	}
	dir, drop, err := f.folder()
	if err != nil {
		return out, err
	}
	if err := untar(data, dir); err != nil {
		drop()
		return out, fmt.Errorf("%s is no tar.gz that can be unpacked: %w", s.URL, err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 1 && entries[0].IsDir() && !looksLike(dir) {
		return fetched{dir: filepath.Join(dir, entries[0].Name()), drop: drop}, nil
	}
	return fetched{dir: dir, drop: drop}, nil
}

// get fetches a file of at most a number of bytes.
func get(ctx context.Context, url string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d MB", url, most>>20)
	}
	return data, err
}

func (f *fetcher) folder() (string, func(), error) {
	if err := os.MkdirAll(f.temp, 0o700); err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(f.temp, "fetch-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// untar unpacks the regular files of a tar.gz.
func untar(data []byte, dir string) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	files, size := 0, int64(0)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files++; files > mostFiles || h.Size > mostBytes-size || !filepath.IsLocal(h.Name) {
			return fmt.Errorf("it has too many files, is too large, or a path leads out of it: %s", h.Name)
		}
		size += h.Size
		if err := write(filepath.Join(dir, h.Name), r, h.FileInfo().Mode()); err != nil {
			return err
		}
	}
}

func write(path string, r io.Reader, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600|mode&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Close())
}

// copyTree copies a plugin without its repository and returns the sum of its content. A link is followed if it stays
// inside.
func copyTree(from, to string) (string, error) {
	h := sha256.New()
	files, size := 0, int64(0)
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == ".git" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		real, err := inside(from, path)
		if err != nil {
			return err
		}
		st, err := os.Stat(real)
		if err != nil || st.IsDir() {
			return err
		}
		if files, size = files+1, size+st.Size(); !st.Mode().IsRegular() || files > mostFiles || size > mostBytes {
			return fmt.Errorf("%s: a plugin has at most %d regular files and %d MB", rel, mostFiles, mostBytes>>20)
		}
		in, err := os.Open(real)
		if err != nil {
			return err
		}
		defer in.Close()
		fmt.Fprintf(h, "%s\x00%d\x00%v\x00", filepath.ToSlash(rel), st.Size(), st.Mode()&0o100 != 0)
		return write(filepath.Join(to, rel), io.TeeReader(in, h), st.Mode())
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
