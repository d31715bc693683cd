package lsp

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Definition says for which files a server is and how it starts. In settings and in the .lsp.json of plugins a field
// that is not given stays as it is in the built-in definition of the same name.
type Definition struct {
	Name     string     `json:"name,omitempty"`
	Disabled bool       `json:"disabled,omitempty"`
	Command  StringList `json:"command,omitempty"` // program and arguments
	Args     []string   `json:"args,omitempty"`    // more arguments
	// Languages are the language identifiers of the protocol by extension (".go") or file name ("go.mod").
	Languages map[string]string `json:"languages,omitempty"`
	// ExtensionToLanguage and Extensions are other spellings of Languages.
	ExtensionToLanguage map[string]string `json:"extensionToLanguage,omitempty"`
	Extensions          []string          `json:"extensions,omitempty"`
	Roots               []string          `json:"roots,omitempty"`  // names of files in a root, or their ends (".csproj")
	Rooted              bool              `json:"rooted,omitempty"` // it serves only below a root with one of Roots
	// of several roots the outermost counts, instead of the nearest
	Topmost bool `json:"topmost,omitempty"`
	// of several installed servers of a group only the first starts
	Group           string            `json:"group,omitempty"`
	Data            bool              `json:"data,omitempty"` // it reads the project's files and runs none of its code
	DiagnosticsOnly bool              `json:"diagnosticsOnly,omitempty"`
	Init            json.RawMessage   `json:"initializationOptions,omitempty"`
	Settings        json.RawMessage   `json:"settings,omitempty"` // answers to workspace/configuration, by section
	Env             map[string]string `json:"env,omitempty"`
	Install         string            `json:"install,omitempty"` // a command that a person could run
	Plugin          string            `json:"-"`                 // where it comes from; empty: lathe or the settings
}

// StringList is a list that may be written as one text.
type StringList []string

// UnmarshalJSON accepts a string or an array of strings.
func (l *StringList) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var one string
		err := json.Unmarshal(data, &one)
		*l = StringList{one}
		return err
	}
	return json.Unmarshal(data, (*[]string)(l))
}

//go:embed servers.json
var serversJSON []byte

var builtin = sync.OnceValue(func() []*Definition {
	var list []*Definition
	if err := json.Unmarshal(serversJSON, &list); err != nil {
		panic(err) // a test reads it
	}
	return list
})

// Definitions are the servers there are under some settings: the built-in ones in their order, then the others by name.
// plugins may be nil.
func Definitions(set Settings, plugins map[string]Definition) []*Definition {
	list := slices.Clone(builtin())
	for _, more := range []map[string]Definition{plugins, set.Servers} {
		for _, name := range slices.Sorted(maps.Keys(more)) {
			d := more[name]
			d.Name = name
			at := slices.IndexFunc(list, func(o *Definition) bool { return o.Name == name })
			if at < 0 {
				d.complete()
				list = append(list, &d)
				continue
			}
			d.over(list[at])
			list[at] = &d
		}
	}
	return list
}

// complete brings the other spellings into one form.
func (d *Definition) complete() {
	if len(d.Languages) == 0 {
		d.Languages = maps.Clone(d.ExtensionToLanguage)
		for _, ext := range d.Extensions {
			if d.Languages == nil {
				d.Languages = map[string]string{}
			}
			d.Languages[ext] = strings.TrimPrefix(ext, ".")
		}
	}
}

// over fills in from the definition that d changes.
func (d *Definition) over(base *Definition) {
	d.complete()
	own := *d
	*d = *base
	d.Disabled, d.Plugin = own.Disabled, own.Plugin
	if len(own.Command) > 0 {
		d.Command, d.Args, d.Data = own.Command, own.Args, own.Data
	}
	if own.Args != nil {
		d.Args = own.Args
	}
	if len(own.Languages) > 0 {
		d.Languages = own.Languages
	}
	if own.Roots != nil {
		d.Roots, d.Rooted = own.Roots, own.Rooted
	}
	if len(own.Init) > 0 {
		d.Init = own.Init
	}
	if len(own.Settings) > 0 {
		d.Settings = own.Settings
	}
	d.Env = merged(d.Env, own.Env)
}

func merged(a, b map[string]string) map[string]string {
	if len(a)+len(b) == 0 {
		return nil
	}
	out := map[string]string{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

func (p *Pool) definitions(set Settings) []*Definition {
	var plugins map[string]Definition
	if p.o.Plugins != nil {
		plugins = p.o.Plugins()
	}
	if len(plugins)+len(set.Servers) == 0 {
		return builtin()
	}
	return Definitions(set, plugins)
}

// language is the identifier of a file's language, "" if the server is not for it.
func (d *Definition) language(path string) string {
	base := filepath.Base(path)
	if lang := d.Languages[base]; lang != "" {
		return lang
	}
	return d.Languages[filepath.Ext(base)]
}

// rootOf finds the folder that the server of a file works in: the nearest one with a marker (the outermost with
// Topmost), up to the working root. ok is false if the server needs a marker and there is none.
func (d *Definition) rootOf(f File) (root string, ok bool) {
	for dir := filepath.Dir(f.Path); within(dir, f.Root); dir = filepath.Dir(dir) {
		if d.marked(dir) {
			root = dir
			if !d.Topmost && !d.outer() {
				return root, true
			}
		}
		if dir == f.Root || filepath.Dir(dir) == dir {
			break
		}
	}
	if root != "" {
		return root, true
	}
	return f.Root, !d.Rooted
}

// outer: a go.work above a go.mod counts.
func (d *Definition) outer() bool { return len(d.Roots) > 0 && d.Roots[0] == "go.work" }

func (d *Definition) marked(dir string) bool {
	for _, name := range d.Roots {
		if len(name) > 1 && name[0] == '.' && (strings.HasSuffix(name, "proj") || name == ".sln") {
			if found, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+name)); len(found) > 0 {
				return true
			}
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
