package dialog

import (
	"slices"
	"testing"
)

func TestParametersAreShownInWords(t *testing.T) {
	rows, ok := parameters([]byte(`{"file_path": "/etc/hosts", "offset": 3, "deep": {"a": "b"}, "file_path": "/x"}`))
	want := [][2]string{{"file path", "/etc/hosts"}, {"offset", "3"}, {"deep", `{"a": "b"}`}, {"file path", "/x"}}
	if !ok || !slices.Equal(rows, want) {
		t.Errorf("%v %q", ok, rows)
	}
	for _, broken := range []string{`[1]`, `{"a": `, `"x"`, ``} {
		if _, ok := parameters([]byte(broken)); ok {
			t.Errorf("%q is an object", broken)
		}
	}
}
