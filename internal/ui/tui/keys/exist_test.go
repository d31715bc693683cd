package keys_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/ui/command"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

func TestEveryCommandWithAKeyExistsAndDoesWhatTheKeySays(t *testing.T) {
	help := map[string]string{}
	for _, c := range command.All() {
		help[c.Name] = c.Help
	}
	for _, row := range keys.Table() {
		name, ok := strings.CutPrefix(string(row.Action), "command:")
		if !ok {
			continue
		}
		want, exists := help[name]
		if !exists {
			t.Errorf("%v runs /%s, which does not exist", row.Keys, name)
			continue
		}
		first, n := utf8.DecodeRuneInString(want)
		if want = string(unicode.ToLower(first)) + want[n:]; row.Help != want {
			t.Errorf("%v promises %q; /%s says %q", row.Keys, row.Help, name, want)
		}
	}
}

// TestEveryActionIsCarriedOut looks for each action's constant in the sources that act on keys.
func TestEveryActionIsCarriedOut(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range []string{"..", "../editor", "../dialog"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range strings.FieldsFunc(string(src),
				func(r rune) bool { return r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				if name, ok := strings.CutPrefix(word, "keys."); ok {
					used[name] = true
				}
			}
		}
	}
	constants := actions(t)
	for _, row := range keys.Table() {
		if strings.HasPrefix(string(row.Action), "command:") {
			continue
		}
		if name := constants[string(row.Action)]; name == "" || !used[name] {
			t.Errorf("nothing acts on %s (keys.%s)", row.Action, name)
		}
	}
}

// actions are the constants of the table's source: the name of each by its value.
func actions(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok {
			out[strings.Trim(value.Value, `"`)] = spec.Names[0].Name
		}
		return true
	})
	return out
}
