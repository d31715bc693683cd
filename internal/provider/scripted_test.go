package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

func TestAScriptedModelAnswersFromItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("reply\n  say Hello.\n  call Read {\"file_path\":\"${WORKDIR}/a\"}\nreply\n  "+
		"say Done.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := set(t, `{"model":"scripted:`+file+`"}`)
	all.Give("scripted:"+file, "scripted:/no/such/file")
	m, err := all.Model(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	msgs := []llm.Message{llm.UserText("x")}
	out, err := reply(t.Context(), m, msgs)
	if err != nil || out.PlainText() != "Hello." || len(out.Calls()) != 1 ||
		!strings.Contains(string(out.Calls()[0].Input), all.o.Dir) {
		t.Fatalf("%+v %v", out, err)
	}
	if out, err = reply(t.Context(), m, append(msgs, out, answered(out, false))); err != nil ||
		out.PlainText() != "Done." {
		t.Errorf("%+v %v", out, err)
	}
	if small, err := all.SmallModel(t.Context()); err != nil || small.Info().Price != (llm.Price{}) {
		t.Errorf("%v %v", small, err)
	}
	if _, err := all.Model(t.Context(), "scripted:/no/such/file"); err == nil || !strings.Contains(err.Error(),
		"/no/such/file") {
		t.Errorf("%v", err)
	}
}

func TestAScriptIsAModelOnTheCommandLineOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.script")
	if err := os.WriteFile(file, []byte("reply\n  say Hi.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := set(t, `{"model":"scripted:`+file+`"}`)
	for _, id := range []string{"", "scripted:" + file} {
		if _, err := all.Model(t.Context(), id); err == nil || !strings.Contains(err.Error(), "only --model") {
			t.Errorf("%q: %v", id, err)
		}
	}
}
