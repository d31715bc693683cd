package tool

import "github.com/lathe-dev/lathe/internal/permission/call"

// coming declares tools that are not there yet, so that rules, agents and `permission check` may name them: the
// settings of Claude Code do. A declaration moves into its tool's file when the tool is made.
var coming = []call.Declaration{
	{Name: "SlashCommand"},
}
