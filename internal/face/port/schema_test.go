package port

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden file")

const golden = "testdata/schema.json"

// The schema is what the golden file has. Fields are only added: one that the file has and the schema lacks would break
// the faces that read it.
func TestTheSchemaOnlyGrows(t *testing.T) {
	now, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if err == nil {
		var a, b any
		if err := json.Unmarshal(old, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(now, &b); err != nil {
			t.Fatal(err)
		}
		missing(t, "", a, b)
	}
	if *update {
		if err := os.WriteFile(golden, append(now, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(append(now, '\n'), old) {
		t.Error("the schema changed: look at the difference, and write it with: go test ./internal/face/port -update")
	}
}

// missing reports what is in a and not in b, and fields that b wants and a did not.
func missing(t *testing.T, path string, a, b any) {
	t.Helper()
	switch a := a.(type) {
	case map[string]any:
		now, ok := b.(map[string]any)
		if !ok {
			t.Errorf("%s is another thing now", path)
			return
		}
		for name, v := range a {
			if name == "description" || name == "required" {
				continue
			}
			if _, there := now[name]; !there {
				t.Errorf("%s.%s is missing now", path, name)
				continue
			}
			missing(t, path+"."+name, v, now[name])
		}
	case string:
		if a != b {
			t.Errorf("%s was %q, and is %v", path, a, b)
		}
	}
}
