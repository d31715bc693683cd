package llm

import (
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
