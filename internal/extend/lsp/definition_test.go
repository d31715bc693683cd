package lsp

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSettingsChangeOnlyTheFieldsOfADefinitionThatTheyName(t *testing.T) {
	find := func(d Definition) *Definition {
		list := Definitions(Settings{Servers: map[string]Definition{"gopls": d}}, nil)
		return list[slices.IndexFunc(list, func(o *Definition) bool { return o.Name == "gopls" })]
	}
	base := find(Definition{})
	if len(base.Roots) == 0 || base.Languages[".go"] != "go" || len(base.Command) == 0 {
		t.Fatalf("nothing is named, and %+v", base)
	}
	if d := find(Definition{Roots: []string{"WORKSPACE"}, Rooted: true}); !slices.Equal(d.Roots, []string{"WORKSPACE"}) ||
		!d.Rooted || d.Languages[".go"] != "go" {
		t.Errorf("roots: %+v", d)
	}
	if d := find(Definition{Args: []string{"-v"}}); !slices.Equal(d.Roots, base.Roots) || !slices.Equal(d.Command,
		base.Command) || !slices.Equal(d.Args, []string{"-v"}) {
		t.Errorf("arguments: %+v", d)
	}
}

func TestTheRootOfAFileIsTheNearestOrOutermostFolderWithAMarker(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{
		"go.work", "a/go.mod", "a/b/go.mod", "a/b/c/x.go", "cs/App.csproj", "cs/sub/x.cs",
		"proj/sub/x.cs", "odd[1]/Odd.csproj", "odd[1]/sub/x.cs",
	} {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name       string
		d          Definition
		file, root string
		want       string
		ok         bool
	}{
		{"nearest", Definition{Roots: []string{"go.mod"}}, "a/b/c/x.go", ".", "a/b", true},
		{"outermost", Definition{Roots: []string{"go.mod"}, Topmost: true}, "a/b/c/x.go", ".", "a", true},
		{"a workspace of modules", Definition{Roots: []string{"go.work", "go.mod"}}, "a/b/c/x.go", ".", ".", true},
		{"not above the working root", Definition{Roots: []string{"go.work", "go.mod"}}, "a/b/c/x.go", "a/b", "a/b", true},
		{"by the end of a name", Definition{Roots: []string{".csproj"}, Rooted: true}, "cs/sub/x.cs", ".", "cs", true},
		{
			"in a folder with characters of patterns",
			Definition{Roots: []string{".csproj"}, Rooted: true},
			"odd[1]/sub/x.cs",
			".", "odd[1]", true,
		},
		{"no marker", Definition{Roots: []string{".csproj"}}, "proj/sub/x.cs", ".", ".", true},
		{
			"no marker, and it needs one",
			Definition{Roots: []string{".csproj"}, Rooted: true},
			"proj/sub/x.cs", ".", ".",
			false,
		},
	} {
		f := File{filepath.Join(top, filepath.FromSlash(tt.file)), filepath.Join(top, filepath.FromSlash(tt.root))}
		if got, ok := tt.d.rootOf(f); got != filepath.Join(top, filepath.FromSlash(tt.want)) || ok != tt.ok {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}
