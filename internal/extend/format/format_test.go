package format_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/format"
)

func chosen(t *testing.T, setting, dir, name string) string {
	t.Helper()
	all := format.All([]byte(setting))
	at := slices.IndexFunc(all, func(f format.Formatter) bool { return f.For(filepath.Join(dir, name), dir) })
	if at < 0 {
		return ""
	}
	return all[at].Name
}

func TestAFormatterIsUsedWhereTheProjectConfiguresIt(t *testing.T) {
	for _, tt := range []struct{ file, text, setting, name, want string }{
		{"go.mod", "module x", "", "a.go", "gofmt"},
		{"README", "", "", "a.go", ""},
		{"go.mod", "module x", `{"goimports":{"enabled":true}}`, "a.go", "goimports"},
		{"go.mod", "module x", `{"gofmt":{"enabled":false}}`, "a.go", ""},
		{".prettierrc", "{}", "", "sub/a.ts", "prettier"},
		{"package.json", `{"prettier": {}}`, "", "a.ts", "prettier"},
		{"package.json", `{"name": "x"}`, "", "a.ts", ""},
		{"pyproject.toml", "[tool.black]\n", "", "a.py", "black"},
		{"pyproject.toml", "[tool.ruff.lint]\n", "", "a.py", "ruff"},
		{"pyproject.toml", "[tool.ruff]\n[tool.black]\n", "", "a.py", "black"},
		{"pyproject.toml", "[project]\n", "", "a.py", ""},
		{"ruff.toml", "", "", "a.pyi", "ruff"},
		{".ruff.toml", "", "", "a.py", "ruff"},
		{"biome.json", "{}", "", "a.py", ""},
		{"biome.json", "{}", "", "a.css", "biome"},
		{"biome.jsonc", "{}", "", "sub/a.tsx", "biome"},
		{"prettier.config.mjs", "", "", "a.vue", "prettier"},
		{".prettierrc.toml", "", "", "a.md", "prettier"},
		{"deno.json", "{}", "", "a.ts", "deno"},
		{"rustfmt.toml", "", "", "src/a.rs", "rustfmt"},
		{".rustfmt.toml", "", "", "a.rs", "rustfmt"},
		{"Cargo.toml", "", "", "a.rs", ""},
		{".clang-format", "", "", "src/a.cpp", "clang-format"},
		{"_clang-format", "", "", "a.h", "clang-format"},
		{"CMakeLists.txt", "", "", "a.c", ""},
		{"stylua.toml", "", "", "a.lua", "stylua"},
		{".ocamlformat", "", "", "a.mli", "ocamlformat"},
		{".formatter.exs", "", "", "lib/a.ex", "mix"},
		{"taplo.toml", "", "", "a.toml", "taplo"},
		{"go.mod", "module x", `{"gofumpt":{"enabled":true}}`, "a.go", "gofumpt"},
		{"x", "", `{"shfmt":{"enabled":true}}`, "a.sh", "shfmt"},
		{"x", "", `{"zig":{"enabled":true}}`, "a.zig", "zig"},
		{"x", "", `{"terraform":{"enabled":true}}`, "a.tf", "terraform"},
		{"x", "", `{"mine":{"command":["mine","$FILE"],"extensions":[".my"]}}`, "a.my", "mine"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := chosen(t, tt.setting, dir, tt.name); got != tt.want {
			t.Errorf("%s %q, setting %q, file %s: %q, want %q", tt.file, tt.text, tt.setting, tt.name, got, tt.want)
		}
	}
}

func TestPlaceholdersStandForTheFile(t *testing.T) {
	f := format.Formatter{Command: []string{"x", "--name=$FILE", "$EXT", "-"}}
	if got := f.Args("/p/a b.ts"); !slices.Equal(got, []string{"--name=/p/a b.ts", "ts", "-"}) {
		t.Errorf("%q", got)
	}
}
