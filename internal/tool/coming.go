package tool

import "github.com/lathe-dev/lathe/internal/permission/call"

// coming declares tools that are not there yet, so that rules, agents and `permission check` may name them: the
// settings of Claude Code do. A declaration moves into its tool's file when the tool is made.
var coming = []call.Declaration{
	{
		Name: "LSP", Params: map[string]string{"file_path": fileAliases},
		Subject: permission.SubjectRead, SubjectIn: []string{"file_path"}, Class: permission.ClassRead, Accesses: call.Typed(readAccesses),
	},
	{Name: "WebSearch", Aliases: []string{"google_web_search", "search_web"}, Accesses: call.Itself("WebSearch")},
	{Name: "SlashCommand"},
}
