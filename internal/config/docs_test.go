package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// TestDocumentationHasEveryKeyAndVariable compares docs/configuration.md with tables generated from the
// schema and the tables of this package.
func TestDocumentationHasEveryKeyAndVariable(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "configuration.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for mark, body := range map[string]string{"keys": keyTable(), "variables": variableTable()} {
		start, end := strings.Index(text, "<!-- "+mark+":"), strings.Index(text, "<!-- end of "+mark+" -->")
		if start < 0 || end < start {
			t.Fatalf("the marks of %q are gone from %s", mark, file)
		}
		start += strings.Index(text[start:], "\n") + 1
		text = text[:start] + body + text[end:]
	}
	if text == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: go test ./internal/config -run Documentation -update", file)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func keyTable() string {
	var b strings.Builder
	b.WriteString("\n| key | takes | default | from a project | effect |\n|---|---|---|---|---|\n")
	eachKey(rootSchema(), nil, func(p keyPath, s *schema) {
		def := ""
		if s.def != nil {
			def = "`" + string(s.def.appendJSON(nil)) + "`"
		}
		from := ""
		if len(s.props) == 0 && !strings.HasSuffix(p.String(), ".*") {
			from = fromProject(p)
		}
		row := []string{"`" + strings.ReplaceAll(p.String(), "[*]", ".*") + "`", s.allowed(), def, from, s.description +
			effect(p) + examples(s)}
		for i, cell := range row {
			row[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	})
	return b.String() + "\n"
}

// effect marks a key that has no effect yet.
func effect(p keyPath) string {
	if slices.Contains(WithoutEffect(), p.String()) {
		return " Without effect yet."
	}
	return ""
}

func examples(s *schema) string {
	if s.examples == nil {
		return ""
	}
	var out []string
	for _, e := range s.examples.elems {
		out = append(out, "`"+string(spaced(e.appendJSON(nil)))+"`")
	}
	return " Example: " + strings.Join(out, ", ")
}

func fromProject(p keyPath) string {
	switch {
	case p.matches("permissions", "defaultMode"):
		return "stricter ones at once"
	case p.under("permissions", "rules"):
		return "deny at once"
	case p.matches("permissions", "askBeforeCommands"):
		return "true at once"
	case p.matches("env"):
		return "once trusted, some never"
	}
	return map[verdict]string{free: "at once", held: "once trusted", never: "never"}[judge(p, &node{kind: '"'})]
}

func variableTable() string {
	var b strings.Builder
	b.WriteString("\n| variable | key |\n|---|---|\n")
	for _, row := range envKeys() {
		key, negated := strings.CutPrefix(row.key, "!")
		key = "`" + key + "`"
		if negated {
			key += ", turned round"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", row.name, key)
	}
	return b.String() + "\n"
}
