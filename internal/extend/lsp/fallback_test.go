package lsp_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/lsp"
)

func TestDefinitionsAreFoundAsText(t *testing.T) {
	for path, text := range map[string]string{
		"a.go":    "var x = Total(1)\nfunc (s *Sum) Total(list []int) int {\n\treturn Total(2)\n",
		"a.py":    "x = Total(1)\n    async def Total(self):\n        return Total(2)\n",
		"a.ts":    "call(Total)\nexport const Total = (a: number) => a\nreturn Total(2)\n",
		"a.js":    "Total(1)\n  Total(a, b) {\n  new Total(2)\n",
		"a.rs":    "let y = Total(1);\npub(crate) struct Total<T> {\n  Total(2)\n",
		"a.rb":    "puts Total(1)\n  def self.Total(a)\n  return Total(2)\n",
		"a.lua":   "Total(1)\nfunction M.Total(a)\n  return M.Total(2)\n",
		"a.c":     "int Total(int n);\nstatic const char *Total(int n, const char *s) {\n  return Total(2);\n",
		"b.c":     "  else Total(1)\nunsigned long\tTotal(int n,\n  throw Total(2\n",
		"a.cpp":   "x = Total(1);\nstd::vector<int> Shape::Total(const A &a) const { return {}; }\n  return Total(2\n",
		"a.java":  "  return Total(1)\n  public static <T> List<T> Total(T a) {\n  new Total(2)\n",
		"a.cs":    "  await Total(1)\n  private async Task<int> Total(string a)\n  return Total(2)\n",
		"a.swift": "let x = Total(1)\n  override func Total(a: Int) -> Int {\n  return Total(2)\n",
	} {
		found := lsp.NewWords("pkg.Total").Find(path, text, true)
		if len(found) != 1 || found[0].Line != 2 {
			t.Errorf("%s: found %v in:\n%s", path, found, text)
			continue
		}
		if line := strings.Split(text, "\n")[1]; !strings.HasPrefix(line[found[0].Column-1:], "Total") {
			t.Errorf("%s: column %d of %q", path, found[0].Column, line)
		}
	}
}
