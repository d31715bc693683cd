package tool

import (
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// resourceTools declares the tools for the resources of MCP servers, so that rules may name them before a server runs.
func resourceTools() []call.Declaration {
	return []call.Declaration{
		{
			Name: call.ListResources, Aliases: []string{"ListMcpResources"}, Class: permission.ClassNeutral,
			Accesses: call.Session(call.ListResources),
		},
		{
			Name: call.ReadResource, Aliases: []string{"ReadMcpResource"},
			Subject: permission.SubjectName, SubjectIn: []string{"server"}, Rest: "uri",
			Accesses: call.Itself(call.ReadResource),
		},
	}
}
