package internal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

// readInside are keys that package config reads as parts of its documents, before there are any Settings.
var readInside = []string{
	"$schema", "version", "organizationUrl",
	"permissions.allow", "permissions.ask", "permissions.deny", "permissions.disableBypassPermissionsMode",
	"permissions.disableAutoMode",
}

func TestEverySettingIsReadOrIsSaidToHaveNoEffect(t *testing.T) {
	readers := settingsReaders(t)
	idle := config.WithoutEffect()
	keys := map[string]bool{}
	for key, field := range settingFields(reflect.TypeFor[config.Settings](), "") {
		keys[key] = true
		reader := readers[field]
		switch unread := slices.Contains(idle, key); {
		case unread && reader != "":
			t.Errorf("%s reads %s: take the x-effect of that key out of schema.json", reader, key)
		case !unread && reader == "" && !slices.Contains(readInside, key):
			t.Errorf("nothing reads %s: make it effective, or give it an x-effect in schema.json", key)
		case reader != "" && slices.Contains(readInside, key):
			t.Errorf("%s reads %s: it needs no entry in readInside", reader, key)
		}
	}
	for _, key := range slices.Concat(idle, readInside) {
		if top, _, _ := strings.Cut(key, "."); !keys[key] && !keys[top] {
			t.Errorf("%s is no key of the settings", key)
		}
	}
}

// settingFields maps the dotted keys of the settings to the Go fields that hold them: "Bash.Shell".
func settingFields(typ reflect.Type, prefix string) map[string]string {
	out := map[string]string{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		for inner.Kind() == reflect.Map || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == typ.PkgPath() {
			for key, field := range settingFields(inner, prefix+name+".") {
				out[key] = field
			}
			continue
		}
		out[prefix+name] = typ.Name() + "." + f.Name
	}
	return out
}

// settingsReaders maps the fields of config's structs that the program reads to a file that does so. Writing
// a field is not reading it.
func settingsReaders(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	list := goList(t)
	for _, pkg := range list {
		if !pkg.uses("internal/config") {
			continue
		}
		info := check(t, pkg, list)
		for expr, sel := range info.Selections {
			if sel.Kind() != types.FieldVal || sel.Obj().Pkg() == nil || sel.Obj().Pkg().Path() != modulePath+
				"/internal/config" || pkg.written[expr] {
				continue
			}
			if named, ok := deref(sel.Recv()).(*types.Named); ok {
				file := pkg.fset.Position(expr.Pos()).Filename
				out[named.Obj().Name()+"."+sel.Obj().Name()] = path.Join(strings.TrimPrefix(pkg.ImportPath, modulePath+"/"),
					filepath.Base(file))
			}
		}
	}
	return out
}

func deref(t types.Type) types.Type {
	if p, ok := t.(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// compiled is a package as `go list` describes it.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string

	fset    *token.FileSet
	written map[*ast.SelectorExpr]bool // left sides of assignments
}

func (l *compiled) uses(pkg string) bool {
	full := modulePath + "/" + pkg
	return l.ImportPath == full || strings.HasPrefix(l.ImportPath, modulePath+"/") && slices.Contains(l.Imports, full)
}

// goList describes the packages of the program and their imports, with their compiled export data.
func goList(t *testing.T) map[string]*compiled {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports", "./cmd/lathe")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	out := map[string]*compiled{}
	for dec := json.NewDecoder(bytes.NewReader(data)); dec.More(); {
		var l compiled
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		out[l.ImportPath] = &l
	}
	return out
}

// check resolves the types of a package.
func check(t *testing.T, pkg *compiled, all map[string]*compiled) *types.Info {
	t.Helper()
	pkg.fset, pkg.written = token.NewFileSet(), map[*ast.SelectorExpr]bool{}
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(pkg.fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, pkg.notice)
		files = append(files, f)
	}
	export := func(imported string) (io.ReadCloser, error) {
		if l := all[imported]; l != nil && l.Export != "" {
			return os.Open(l.Export)
		}
		return nil, fmt.Errorf("there is no export data of %s", imported)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: importer.ForCompiler(pkg.fset, "gc", export)}
	if _, err := conf.Check(pkg.ImportPath, pkg.fset, files, info); err != nil {
		t.Fatal(err)
	}
	return info
}

// notice remembers the fields that a statement only writes.
func (l *compiled) notice(n ast.Node) bool {
	if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
		for _, left := range a.Lhs {
			if sel, ok := left.(*ast.SelectorExpr); ok {
				l.written[sel] = true
			}
		}
	}
	return true
}
