package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The example of docs/custom-tools.md is run as the page shows it.
func TestTheExampleOfTheCustomToolsPageIsTrue(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not there")
	}
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "lathe", "tools")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "word_count"), []byte(pageBlock(t, "custom-tools.md", "python")),
		0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "poem.txt"), []byte("roses are red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	line, want, _ := strings.Cut(strings.TrimPrefix(pageBlock(t, "custom-tools.md", "console"), "$ lathe "), "\n")
	cmd := exec.Command("sh", "-c", buildLathe(t)+" "+line)
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil || string(out) != want {
		t.Fatalf("%v: %q, want %q", err, out, want)
	}
}
