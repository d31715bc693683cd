package internal_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// required is every module go.mod requires. It reads lines rather than pulling in a parser: go.mod is
// kept in the form the go command writes.
func required(t *testing.T) []string {
	t.Helper()
	var out []string
	block := false
	for line := range strings.Lines(readFile(t, "go.mod")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "require (":
			block = true
		case line == ")":
			block = false
		case block && line != "":
			out = append(out, strings.Fields(line)[0])
		case strings.HasPrefix(line, "require "):
			out = append(out, strings.Fields(line)[1])
		}
	}
	return out
}

// direct is every required module that our code or our tests import, by the longest matching path.
func direct(t *testing.T) map[string]string {
	t.Helper()
	modules := required(t)
	out := map[string]string{}
	for _, f := range tree(t) {
		for _, p := range f.imports(t) {
			if m := moduleOf(modules, p); m != "" {
				out[m] = f.path
			} else if isExternal(p) {
				t.Errorf("%s imports %s, which no module of go.mod holds", f.path, p)
			}
		}
	}
	return out
}

func moduleOf(modules []string, importPath string) string {
	best := ""
	for _, m := range modules {
		if (importPath == m || strings.HasPrefix(importPath, m+"/")) && len(m) > len(best) {
			best = m
		}
	}
	return best
}

// isExternal reports whether a package is neither ours nor of the standard library.
func isExternal(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	ours := importPath == modulePath || strings.HasPrefix(importPath, modulePath+"/")
	return strings.Contains(first, ".") && !ours
}

// documented reads the rows of docs/dependencies.md: module to reason.
func documented(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(readFile(t, "docs/dependencies.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 {
			continue
		}
		module := strings.Trim(cells[0], " `")
		if _, twice := out[module]; twice {
			t.Errorf("docs/dependencies.md: two rows for %s", module)
		}
		out[module] = strings.TrimSpace(cells[2])
	}
	return out
}

func TestEveryDirectDependencyHasItsReason(t *testing.T) {
	rows := documented(t)
	for module, importer := range direct(t) {
		if rows[module] == "" {
			t.Errorf("%s (imported by %s) has no row with a reason in docs/dependencies.md", module, importer)
		}
	}
	modules := required(t)
	for module := range rows {
		if !slices.Contains(modules, module) {
			t.Errorf("docs/dependencies.md speaks of %s, which go.mod does not require", module)
		}
	}
}

var (
	mdLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeader = regexp.MustCompile("(?m)^#+ +(.*)$")
	mdFence  = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

func TestDocumentsLinkToWhatExists(t *testing.T) {
	for _, doc := range documents(t) {
		text := mdFence.ReplaceAllString(readFile(t, doc), "")
		for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			checkLink(t, doc, m[1])
		}
	}
}

func checkLink(t *testing.T, doc, link string) {
	t.Helper()
	file, anchor, _ := strings.Cut(link, "#")
	target := doc
	if file != "" {
		target = path.Join(path.Dir(doc), file)
	}
	if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(target))); err != nil {
		t.Errorf("%s links to %s, which does not exist", doc, link)
		return
	}
	if anchor != "" && strings.HasSuffix(target, ".md") && !slices.Contains(anchors(t, target), anchor) {
		t.Errorf("%s links to %s; %s has no such heading", doc, link, target)
	}
}

// anchors are the fragments that GitHub gives to a document's headings.
func anchors(t *testing.T, doc string) []string {
	t.Helper()
	var out []string
	for _, m := range mdHeader.FindAllStringSubmatch(readFile(t, doc), -1) {
		keep := func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
				return r
			}
			return -1
		}
		out = append(out, strings.Map(keep, strings.ToLower(strings.TrimSpace(m[1]))))
	}
	return out
}

// documents are the Markdown files for people: those at the root and below docs/.
func documents(t *testing.T) []string {
	t.Helper()
	root := os.DirFS("..")
	out, err := fs.Glob(root, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(root, "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".md") {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheSecurityPageNamesTestsThatExist holds docs/security.md to the tests that it claims to have: each name in back
// quotes, or a pattern with a star, is that of a test, or of a case of the attacks (after "..." or a slash).
func TestTheSecurityPageNamesTestsThatExist(t *testing.T) {
	_, section, ok := strings.Cut(readFile(t, "docs/security.md"), "\n## Tests\n")
	if !ok {
		t.Fatal("docs/security.md has no section Tests")
	}
	cases, tests := map[string]bool{}, map[string]bool{}
	test := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	attack := regexp.MustCompile(`name: +"([^"]+)"`)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		for _, m := range test.FindAllStringSubmatch(string(b), -1) {
			tests[m[1]] = true
		}
		if strings.HasPrefix(path.Base(name), "attack_") {
			for _, m := range attack.FindAllStringSubmatch(string(b), -1) {
				cases[strings.ReplaceAll(m[1], " ", "_")] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| class") || strings.HasPrefix(line, "| probe") {
			continue
		}
		rows++
		named := 0
		for _, m := range regexp.MustCompile("`([^` ]+)`").FindAllStringSubmatch(line[strings.LastIndex(line, " | "):], -1) {
			name, among := m[1], cases
			if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") {
				if name, _, _ = strings.Cut(name, "/"); name != m[1] {
					name = m[1][strings.LastIndex(m[1], "/")+1:]
				} else {
					among = tests
				}
			} else {
				name = name[strings.LastIndex(name, "/")+1:]
			}
			named++
			if !slices.ContainsFunc(slices.Collect(maps.Keys(among)),
				func(have string) bool { ok, _ := path.Match(name, have); return ok }) {
				t.Errorf("docs/security.md names %s, and there is no such test", m[1])
			}
		}
		if named == 0 {
			t.Errorf("docs/security.md names no test for: %s", line)
		}
	}
	if rows < 20 {
		t.Errorf("docs/security.md has only %d classes", rows)
	}
}
