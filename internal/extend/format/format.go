// Package format knows the programs that format source files.
//
// The words: a [Formatter] reads a file's text from its standard input and prints the formatted text; a project
// configures one by a file of the formatter's, or by a section of a shared one.
//
// The promise: nothing here changes a file, and a project that configures no formatter has none (but for gofmt in a Go
// module).
package format

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Formatter is a program. In its command $FILE represents the path of the file.
type Formatter struct {
	Name       string   `json:"name,omitempty"`
	Command    []string `json:"command,omitempty"`
	Extensions []string `json:"extensions,omitempty"`
	// true: also where the project does not configure it; false: never
	Enabled *bool             `json:"enabled,omitempty"`
	Env     map[string]string `json:"env,omitempty"`

	configured []string // names of files that configure it; "name#text" for one that must have the text
	data       bool     // it runs no code of the project
}

// builtin are the known formatters; of several that are configured for a file the first is used.
func builtin() []Formatter {
	web := []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json", ".jsonc", ".css"}
	python := []string{".py", ".pyi"}
	return []Formatter{
		{Name: "goimports", Command: []string{"goimports", "-srcdir", "$FILE"}, Extensions: []string{".go"}, data: true},
		{Name: "gofumpt", Command: []string{"gofumpt"}, Extensions: []string{".go"}, data: true},
		{Name: "gofmt", Command: []string{"gofmt"}, Extensions: []string{".go"}, configured: []string{"go.mod"}, data: true},
		{
			Name: "biome", Command: []string{"biome", "format", "--stdin-file-path=$FILE"}, Extensions: web,
			configured: []string{"biome.json", "biome.jsonc"},
		},
		{
			Name: "prettier", Command: []string{"prettier", "--stdin-filepath", "$FILE"},
			Extensions: append(slices.Clone(web), ".scss", ".less", ".html", ".vue", ".svelte", ".md", ".mdx", ".yaml", ".yml",
				".graphql"),
			configured: []string{
				".prettierrc", ".prettierrc.json", ".prettierrc.json5", ".prettierrc.yaml", ".prettierrc.yml", ".prettierrc.toml",
				".prettierrc.js", ".prettierrc.cjs", ".prettierrc.mjs", ".prettierrc.ts",
				"prettier.config.js", "prettier.config.cjs", "prettier.config.mjs", "prettier.config.ts",
				`package.json#"prettier":`,
			},
		},
		{
			Name: "deno", Command: []string{"deno", "fmt", "--ext", "$EXT", "-"}, Extensions: web,
			configured: []string{"deno.json", "deno.jsonc"},
		},
		// Before ruff, which many projects have as a linter only.
		{
			Name: "black", Command: []string{"black", "-q", "--stdin-filename", "$FILE", "-"}, Extensions: python,
			configured: []string{"pyproject.toml#[tool.black]"}, data: true,
		},
		{
			Name: "ruff", Command: []string{"ruff", "format", "--stdin-filename", "$FILE", "-"}, Extensions: python,
			configured: []string{"ruff.toml", ".ruff.toml", "pyproject.toml#[tool.ruff"}, data: true,
		},
		// rustup obeys the rust-toolchain.toml of a project.
		{
			Name: "rustfmt", Command: []string{"rustfmt", "--emit", "stdout", "--quiet"}, Extensions: []string{".rs"},
			configured: []string{"rustfmt.toml", ".rustfmt.toml"},
		},
		{
			Name: "clang-format", Command: []string{"clang-format", "--assume-filename=$FILE"}, Extensions: []string{
				".c", ".h",
				".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm",
			}, configured: []string{".clang-format", "_clang-format"},
			data: true,
		},
		{
			Name: "stylua", Command: []string{"stylua", "--stdin-filepath", "$FILE", "-"}, Extensions: []string{".lua"},
			configured: []string{"stylua.toml", ".stylua.toml"}, data: true,
		},
		{
			Name: "ocamlformat", Command: []string{"ocamlformat", "--name=$FILE", "-"}, Extensions: []string{".ml", ".mli"},
			configured: []string{".ocamlformat"}, data: true,
		},
		{
			Name: "mix", Command: []string{"mix", "format", "-"}, Extensions: []string{".ex", ".exs"},
			configured: []string{".formatter.exs"},
		},
		{
			Name: "taplo", Command: []string{"taplo", "format", "-"}, Extensions: []string{".toml"},
			configured: []string{"taplo.toml", ".taplo.toml"}, data: true,
		},
		{Name: "zig", Command: []string{"zig", "fmt", "--stdin"}, Extensions: []string{".zig"}, data: true},
		{Name: "terraform", Command: []string{"terraform", "fmt", "-"}, Extensions: []string{".tf", ".tfvars"}, data: true},
		{Name: "shfmt", Command: []string{"shfmt", "--filename", "$FILE"}, Extensions: []string{".sh", ".bash"}, data: true},
	}
}

// All are the formatters under a setting: an object by name, or nil. A name that is not built in is a new formatter,
// which is used before the built-in ones and everywhere unless its setting says otherwise.
func All(setting json.RawMessage) []Formatter {
	list := builtin()
	var own map[string]Formatter
	if json.Unmarshal(setting, &own) != nil {
		return list
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(own))) {
		f := own[name]
		f.Name = name
		at := slices.IndexFunc(list, func(o Formatter) bool { return o.Name == name })
		if at < 0 {
			if yes := true; f.Enabled == nil {
				f.Enabled = &yes
			}
			list = slices.Insert(list, 0, f)
			continue
		}
		base := &list[at]
		base.Enabled, base.Env = f.Enabled, f.Env
		if len(f.Command) > 0 {
			base.Command, base.data = f.Command, false
		}
		if len(f.Extensions) > 0 {
			base.Extensions = f.Extensions
		}
	}
	return list
}

// Data reports whether the formatter runs no code of the project.
func (f *Formatter) Data() bool { return f.data }

// For reports whether the formatter is to format a file of a project: the setting says so, or a file up to root
// configures it.
func (f *Formatter) For(path, root string) bool {
	if !slices.Contains(f.Extensions, filepath.Ext(path)) || len(f.Command) == 0 {
		return false
	}
	if f.Enabled != nil {
		return *f.Enabled
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if f.configuredIn(dir) {
			return true
		}
		if dir == root || filepath.Dir(dir) == dir {
			return false
		}
	}
}

func (f *Formatter) configuredIn(dir string) bool {
	for _, name := range f.configured {
		name, text, _ := strings.Cut(name, "#")
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if text == "" {
			return true
		}
		if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil && bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// Args are the arguments after the program for a file.
func (f *Formatter) Args(path string) []string {
	out := make([]string, 0, len(f.Command))
	for _, a := range f.Command[1:] {
		out = append(out, strings.NewReplacer("$FILE", path, "$EXT", strings.TrimPrefix(filepath.Ext(path), ".")).Replace(a))
	}
	return out
}
