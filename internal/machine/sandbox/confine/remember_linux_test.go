//go:build amd64 || arm64

package confine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestTheTierIsRemembered(t *testing.T) {
	found := Detect()
	if found.Tier != Full {
		t.Skipf("this machine has no tier full: %s", found.Why)
	}
	file := filepath.Join(t.TempDir(), "new", "tier.json")
	if got := Remembered(file); got != found {
		t.Fatalf("the first time: %+v, want %+v", got, found)
	}
	write := func(key string, s Support) {
		b, err := json.Marshal(map[string]any{"Key": key, "Support": s})
		if err == nil {
			err = os.WriteFile(file, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	marked := found
	marked.Why = "from the file"
	write(circumstances(), marked)
	if got := Remembered(file); got != marked {
		t.Errorf("the file was not used: %+v", got)
	}
	write("another boot", marked)
	if got := Remembered(file); got != found {
		t.Errorf("a file from other circumstances was used: %+v", got)
	}
	weak := marked
	weak.Tier = None
	write(circumstances(), weak)
	if got := Remembered(file); got != found {
		t.Errorf("a weaker tier was taken from the file: %+v", got)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Remembered(file); got != found {
		t.Errorf("a broken file was used: %+v", got)
	}
}
