package internal_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// modulePath is the start of our import paths.
const modulePath = "github.com/lathe-dev/lathe"

var update = flag.Bool("update", false, "write the golden files")

// source is one Go file of the repository. Files are parsed rather than listed with `go list`, so that
// the rules hold for the files of every operating system at once.
type source struct {
	path string // slash-separated, from the root of the repository
	pkg  string // the folder: "internal/llm"
	ast  *ast.File
	fset *token.FileSet
	size int // lines
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// imports are the import paths of the file.
func (s source) imports(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, spec := range s.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: import %s: %v", s.path, spec.Path.Value, err)
		}
		out = append(out, p)
	}
	return out
}

var parseOnce = sync.OnceValues(parseTree)

// tree is every Go file of this module.
func tree(t *testing.T) []source {
	t.Helper()
	files, err := parseOnce()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parseTree() ([]source, error) {
	var out []source
	fset := token.NewFileSet()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(root, name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		lines := strings.Count(string(text), "\n")
		out = append(out, source{path: name, pkg: path.Dir(name), ast: f, fset: fset, size: lines})
		return nil
	})
	return out, err
}

// skipFolder leaves out the folders that the go command ignores: hidden folders, testdata, and other modules.
func skipFolder(root fs.FS, name string) error {
	base := path.Base(name)
	if name == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// packages groups the files that are not tests by folder.
func packages(t *testing.T) map[string][]source {
	t.Helper()
	out := map[string][]source{}
	for _, f := range tree(t) {
		if !f.isTest() {
			out[f.pkg] = append(out[f.pkg], f)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// readFile reads a file by its path from the root of the repository.
func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
