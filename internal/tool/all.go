package tool

import (
	"slices"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// builtin is one tool: its declaration, and how a session makes it.
type builtin struct {
	call.Declaration
	make func(*Env) agent.Tool
}

// builtins are in the order in which models see them.
var builtins = []builtin{
	{readTool, newRead},
	{writeTool, newWrite},
	{editTool, newEdit},
	{globTool, newGlob},
	{grepTool, newGrep},
	{bashTool, newBash},
	{taskOutputTool, newTaskOutput},
	{taskStopTool, newTaskStop},
	{taskTool, newTask},
	{todoTool, newTodoWrite},
	{questionTool, newQuestion},
	{enterPlanTool, newEnterPlan},
	{exitPlanTool, newExitPlan},
	{skillTool, newSkill},
	{memoryTool, newMemory},
	{notebookTool, newNotebookEdit},
	{fetchTool, newWebFetch},
	{searchTool, newWebSearch},
	{patchTool, newApplyPatch},
	{multiEditTool, newMultiEdit},
	{batchTool, newBatch},
	{openTool, newOpen},
	{lspTool, newLSP},
	{toolSearchTool, newToolSearch},
}

// All makes every built-in tool of a session.
func All(env *Env) []agent.Tool {
	tools := make([]agent.Tool, len(builtins))
	for i, b := range builtins {
		tools[i] = b.make(env)
	}
	return tools
}

// Names are the built-in tools in the order of All.
func Names() []string {
	names := make([]string, len(builtins))
	for i, b := range builtins {
		names[i] = b.Name
	}
	return names
}

// Catalogue declares the built-in tools, and those that rules and calls may name before they exist.
// Each catalogue is a new one, to which a session may add the declarations of its servers and plugins.
func Catalogue() *call.Catalogue { return call.NewCatalogue(declarations()...) }

func declarations() []call.Declaration {
	all := make([]call.Declaration, 0, len(builtins)+len(coming)+3)
	for _, b := range builtins {
		b.Ignored += chatter
		all = append(all, b.Declaration)
	}
	return slices.Concat(append(all, structuredTool, callTool, networkAccess), resourceTools(), coming)
}
