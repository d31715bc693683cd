package lsp_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
)

func TestOnlyTheChangedPartIsSentInTheServersOwnPositions(t *testing.T) {
	for encoding, at := range map[string]int{"utf-8": 6, "utf-16": 4, "utf-32": 3} { // behind x in the second line
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			p, server := lsptest.Pool(t, map[string]any{"positionEncoding": encoding})
			dir := project(t, "a.fk", "one\n\U0001F600 x\u00e9 end\nlast\n")
			f := lsp.File{Path: filepath.Join(dir, "a.fk"), Root: dir}
			p.Touch(f)
			sends(t, server, "textDocument/didOpen")
			write(t, f.Path, "one\n\U0001F600 yy\u00e9 end\nlast\n")
			p.Seat(filepath.Clean).Edited(t.Context(), []lsp.File{f})
			sends(t, server, "textDocument/didChange")
			if want := fmt.Sprintf(
				`{"contentChanges":[{"range":{"start":{"line":1,"character":%d},"end":{"line":1,"character":%d}},"text":"yy"}]`,
				at-1, at); !strings.Contains(server.Log(), want) {
				t.Errorf("no %s in:\n%s", want, server.Log())
			}
		})
	}
}

// sends waits until the server was sent a message.
func sends(t *testing.T, server *lsptest.Server, want string) {
	t.Helper()
	if !await.Until(func() bool { return strings.Contains(server.Log(), want) }) {
		t.Fatalf("no %s in:\n%s", want, server.Log())
	}
}

func TestFilesThatAreNoTextOrTooLargeAreNotSent(t *testing.T) {
	for i, text := range []string{
		"caf\xe9\n", "\xff\xfeo\x00n\x00e\x00", "one\x00two",
		strings.Repeat("line\n", 500_000),
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p, server := lsptest.Pool(t, map[string]any{})
			dir := project(t, "bad.fk", text, "good.fk", "one\n")
			bad, good := lsp.File{Path: filepath.Join(dir, "bad.fk"), Root: dir}, lsp.File{
				Path: filepath.Join(dir, "good.fk"),
				Root: dir,
			}
			p.Touch(bad)
			p.Touch(good)
			sends(t, server, "good.fk")
			write(t, good.Path, text) // one that becomes such a file is closed
			p.Seat(filepath.Clean).Edited(t.Context(), []lsp.File{bad, good})
			sends(t, server, "textDocument/didClose")
			if strings.Contains(server.Log(), "bad.fk") || strings.Contains(server.Log(), "didChange\"") {
				t.Errorf("it was sent: %s", server.Log())
			}
		})
	}
}
