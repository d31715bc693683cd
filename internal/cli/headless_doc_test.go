package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var docRow = regexp.MustCompile("^\\| `([^`]+)`[^|]*\\| (as Claude Code|differs: [^|]+|lathe's own: " +
	"[^|]+|refused[^|]*) \\|$")

// docTable reads the table below a heading of docs/headless.md: names to descriptions.
func docTable(t *testing.T, heading string) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../docs/headless.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/headless.md has no heading %q", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	rows := map[string]string{}
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		m := docRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Errorf("docs/headless.md: a row is not in one of the forms: %s", line)
			continue
		}
		if rows[m[1]] != "" {
			t.Errorf("docs/headless.md: %s has two rows", m[1])
		}
		rows[m[1]] = m[2]
	}
	return rows
}

// sameNames holds a table against the code, both ways.
func sameNames(t *testing.T, what string, rows map[string]string, code []string) {
	t.Helper()
	slices.Sort(code)
	code = slices.Compact(code)
	documented := slices.Sorted(maps.Keys(rows))
	for _, name := range code {
		if _, ok := rows[name]; !ok {
			t.Errorf("docs/headless.md: the %s %s has no row", what, name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(code, name) {
			t.Errorf("docs/headless.md: there is no %s %s", what, name)
		}
	}
}

func TestTheHeadlessPageNamesTheFlags(t *testing.T) {
	rows := docTable(t, "Flags")
	var names []string
	f := promptFlagSet()
	f.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	sameNames(t, "flag", rows, names)
	for _, c := range compatFlags {
		if refused := !c.empty("x"); refused != strings.HasPrefix(rows["--"+c.name], "refused") {
			t.Errorf("--%s: refused is %v, the page says %q", c.name, refused, rows["--"+c.name])
		}
	}
}

func TestTheHeadlessPageNamesTheControlRequests(t *testing.T) {
	rows := docTable(t, "Control requests")
	names := slices.Concat(slices.Collect(maps.Keys(controlRequests)), slices.Collect(maps.Keys(sessionRequests)),
		slices.Collect(maps.Keys(refusedRequests)))
	sameNames(t, "control request", rows, names)
	for name, text := range rows {
		if (refusedRequests[name] != "") != strings.HasPrefix(text, "refused") {
			t.Errorf("%s: the page says %q, the code %q", name, text, refusedRequests[name])
		}
	}
}

func TestTheHeadlessPageNamesTheMessages(t *testing.T) {
	sameNames(t, "message", docTable(t, "Messages"), writtenMessages(t))
}

// writtenMessages finds the lines that the code builds: composite literals with a Type, and those of the protocol.
func writtenMessages(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				if name := messageName(lit); name != "" {
					out = append(out, name)
				}
			}
			return true
		})
	}
	return out
}

// messageName is "system/init" for &initLine{Type: "system", Subtype: "init", ...}; "" for other literals.
func messageName(lit *ast.CompositeLit) string {
	typ, ok := lit.Type.(*ast.Ident)
	if !ok || !strings.HasSuffix(typ.Name, "Line") && typ.Name != "hostRequest" && typ.Name != "controlResponse" &&
		typ.Name != "canUseTool" && typ.Name != "elicitationRequest" {
		return ""
	}
	fields := map[string]string{}
	for i, e := range lit.Elts {
		key, value := "", e
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			key, value = kv.Key.(*ast.Ident).Name, kv.Value
		} else if i == 0 {
			key = "Type"
		}
		if b, ok := value.(*ast.BasicLit); ok && b.Kind == token.STRING {
			fields[key], _ = strconv.Unquote(b.Value)
		}
	}
	if fields["Subtype"] != "" && fields["Type"] == "" {
		return "control_request/" + fields["Subtype"]
	}
	if fields["Subtype"] != "" {
		return fields["Type"] + "/" + fields["Subtype"]
	}
	return fields["Type"]
}
