package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnEndedTaskShowsTheEndOfItsOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "output")
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintln(&b, "line", i)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := taskOutput(task{ID: "bash_1", Title: "make", State: "exit code 0", Output: file})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bash_1", "`make`", file, "\n…\nline ", "\nline 4999\n"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := len(out.Text); n > mostShown+500 {
		t.Errorf("%d bytes", n)
	}
	if _, err := taskOutput(task{ID: "bash_2", Output: file + "-gone"}); err == nil || !strings.Contains(err.Error(),
		"bash_2") {
		t.Errorf("%v", err)
	}
}

func TestARunningTaskSaysHowItStands(t *testing.T) {
	out, err := taskOutput(task{ID: "bash_1", Title: "sleep 9", State: "running for 3s", Running: true})
	if err != nil || !strings.Contains(out.Text, "running for 3s") {
		t.Errorf("%+v %v", out, err)
	}
}
