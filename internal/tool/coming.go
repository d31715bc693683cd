package tool

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// coming declares tools that are not there yet, so that rules, agents and `permission check` may name them: the
// settings of Claude Code do. A declaration moves into its tool's file when the tool is made.
var coming = []call.Declaration{
	{
		Name: "ApplyPatch", Aliases: []string{"patch"}, Params: map[string]string{"patch": "input diff"},
		Subject: permission.SubjectEdit, Class: permission.ClassWrite, Accesses: call.Typed(patchAccesses),
	},
	{Name: "WebSearch", Aliases: []string{"google_web_search", "search_web"}, Accesses: call.Itself("WebSearch")},
	{
		Name: "LSP", Params: map[string]string{"file_path": fileAliases},
		Subject: permission.SubjectRead, SubjectIn: []string{"file_path"}, Class: permission.ClassRead, Accesses: call.Typed(readAccesses),
	},
	{Name: "Batch"},
	{Name: "Open"},
	{Name: "SlashCommand"},
}

// patchAccesses writes the files that the headers of a patch name; without one it is unknown.
func patchAccesses(in struct {
	Patch string `json:"patch"`
}, at call.Place,
) ([]permission.Access, error) {
	var out []permission.Access
	for line := range strings.Lines(in.Patch) {
		line = strings.TrimRight(line, "\r\n")
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "--- a/"} {
			if name, ok := strings.CutPrefix(line, head); ok {
				out = append(out, at.Access(permission.Write, strings.TrimSpace(name)))
			}
		}
	}
	return out, nil
}
