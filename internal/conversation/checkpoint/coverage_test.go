package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestOnlyACallThatDestroysNamesItsCoverage(t *testing.T) {
	f, _, _, dir := seat(t, defaults)
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 17<<20); err != nil {
		t.Fatal(err)
	}
	exec := func(class permission.Class) permission.Access {
		return permission.Access{Kind: permission.Exec, Target: "c", Command: &permission.Command{Class: class}}
	}
	write := func(name string) permission.Access {
		return permission.Access{Kind: permission.Write, Target: filepath.Join(dir, name)}
	}
	for want, accesses := range map[string][]permission.Access{
		"1 file can be restored": {exec(permission.ClassDestructive), write("a")},
		"only in the working folders: 2 files can be restored; not: big": {exec(permission.ClassDestructive)},
		"":                        {exec(permission.ClassWrite), write("a")},
		"nothing can be restored": {write("big")},
	} {
		if got := f.Covered(t.Context(), permission.Request{Accesses: accesses}); !strings.HasPrefix(got, want) ||
			want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := f.Covered(t.Context(), permission.Request{Accesses: []permission.Access{write("a")}}); got != "" {
		t.Errorf("an edit of a covered file: %q", got)
	}
	off := defaults
	off.Enabled = false
	f, _, _, dir = seat(t, off)
	if got := f.Covered(t.Context(), permission.Request{Accesses: []permission.Access{
		exec(permission.ClassDestructive),
		write("a"),
	}}); !strings.HasPrefix(got, "off") {
		t.Errorf("%q", got)
	}
}
