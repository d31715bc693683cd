package llm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestACatalogueIsCheckedLineByLine(t *testing.T) {
	if n, err := CheckCatalogue([]byte(catalogueTSV)); err != nil || n < 500 {
		t.Errorf("the built-in catalogue: %d, %v", n, err)
	}
	for text, want := range map[string]string{
		"":                                  "no models",
		"# a b\nm\tM\t1\n":                  "line 1",
		"// x\nm\tM\t1000\n":                "line 2: a model comes before",
		"// x\n# a b\nm\tM\t-5\n":           "line 3: column 3",
		"// x\n# a b\nm\tM\t1.5\n":          "column 3",
		"// x\n# a b\nm\tM\t10\t5\tfree\n":  "column 5",
		"// x\n# a b\nm\tM\t10\t5\tNaN\n":   "column 5",
		"// x\n# a b\nm\tM\n":               "an id, a name and a window",
		"// x\n# a b\nm\tM\t0\n":            "no tokens",
		"// x\n# a b c d\nm\tM\t1\n":        "line 2",
		"<html>":                            "before the first host",
		strings.Repeat("x", MaxCatalogue+1): "4 MB",
	} {
		if _, err := CheckCatalogue([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestTheFaultOfAnOwnCatalogueIsTold(t *testing.T) {
	defer ownCatalogue.Store(nil)
	defer ownFault.Store(nil)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := "// mine\n# a b\nm\tM\t1000\n"
	for _, tt := range []struct{ path, text, want string }{
		{file("good", good), good, ""},
		{filepath.Join(dir, "missing"), "", ""},
		{filepath.Join(dir, "good", "below a file"), "", ""},
		{"", "", ""},
		{file("bad", "// mine\n# a b\nm\tM\t-5\n"), "", filepath.Join(dir, "bad") + " is not used: line 3: column 3"},
		{file("large", good+strings.Repeat("\n", MaxCatalogue)), "", "larger than 4 MB"},
		{dir, "", "not a regular file"},
	} {
		ownFault.Store(nil)
		UseCatalogue(tt.path)
		if err := CatalogueFault(); err != nil {
			t.Fatalf("%s: asking read the file: %v", tt.path, err)
		}
		text := readOwnCatalogue()
		err := CatalogueFault()
		if text != tt.text || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, %v", tt.path, text, err)
		}
	}
}
