package tool_test

import (
	"os"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
)

// TestMain is also the language server of the tests of LSP.
func TestMain(m *testing.M) {
	if lsptest.Serve() {
		return
	}
	os.Exit(m.Run())
}
