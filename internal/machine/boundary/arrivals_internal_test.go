package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// known keeps the names as a reader of arrivals does.
func known(a *arrivals, dir string, have []string) []string {
	names, all := a.since(dir)
	if all {
		have = nil
	}
	have = append(slices.Clone(have), names...)
	slices.Sort(have)
	return slices.Compact(have)
}

func TestNamesThatAppearInAFolderAreReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	make := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	make("old")
	var a arrivals
	defer a.close()
	have := known(&a, dir, nil)
	make("new")
	if err := os.Rename(filepath.Join(dir, "old"), filepath.Join(dir, "renamed")); err != nil {
		t.Fatal(err)
	}
	have = known(&a, dir, have)
	for _, name := range []string{"new", "renamed"} {
		if !slices.Contains(have, name) {
			t.Errorf("%s is not among %v", name, have)
		}
	}
	if again := known(&a, dir, have); !slices.Equal(again, have) {
		t.Errorf("without a change: %v, then %v", have, again)
	}
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	make("elsewhere")
	if have = known(&a, dir, have); !slices.Equal(have, []string{"elsewhere"}) {
		t.Errorf("in another folder of that path: %v", have)
	}
}

func TestManyNamesAreNotLost(t *testing.T) {
	dir := t.TempDir()
	var a arrivals
	defer a.close()
	have := known(&a, dir, nil)
	var want []string
	for i := range 3000 { // more than one read takes
		name := string(rune('a'+i%26)) + "-" + string(rune('a'+i/26%26)) + "-" + string(rune('a'+i/676))
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	if have = known(&a, dir, have); !slices.Equal(have, want) {
		t.Errorf("%d of %d names", len(have), len(want))
	}
}
