package language

import (
	"path/filepath"
	"testing"
)

func TestAFolderThatHoldsTheHomeFolderIsNotWatchedAsAWhole(t *testing.T) {
	home := t.TempDir()
	f := &Folder{o: Options{Environ: func() []string { return []string{"A=b", "HOME=" + home + "/"} }}}
	for dir, want := range map[string]bool{
		home: true, filepath.Dir(home): true, filepath.VolumeName(home) + string(filepath.Separator): true,
		filepath.Join(home, "project"): false, home + "-of-another": false,
	} {
		if got := f.home(dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}
