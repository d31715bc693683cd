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

// builtins are in the order in which models see them. Each gets the parts of the session that it uses.
var builtins = []builtin{
	{readTool, func(e *Env) agent.Tool { return newRead(e.Files, e.Programs) }},
	{writeTool, func(e *Env) agent.Tool { return newWrite(e.Files) }},
	{editTool, func(e *Env) agent.Tool { return newEdit(e.Files) }},
	{globTool, func(e *Env) agent.Tool { return newGlob(&searcher{e.Files, e.Programs, e.Jobs}) }},
	{grepTool, func(e *Env) agent.Tool { return newGrep(&searcher{e.Files, e.Programs, e.Jobs}) }},
	{bashTool, func(e *Env) agent.Tool { return newBash(e.Commands) }},
	{taskOutputTool, func(e *Env) agent.Tool { return newTaskOutput(e.tasks()) }},
	{taskStopTool, func(e *Env) agent.Tool { return newTaskStop(e.tasks()) }},
	{taskTool, func(e *Env) agent.Tool { return newTask(e.Agents) }},
	{todoTool, func(e *Env) agent.Tool { return newTodoWrite(e.Todos) }},
	{questionTool, func(*Env) agent.Tool { return newQuestion() }},
	{enterPlanTool, func(e *Env) agent.Tool { return newEnterPlan(e.Plan) }},
	{exitPlanTool, func(e *Env) agent.Tool { return newExitPlan(e.Plan) }},
	{skillTool, func(e *Env) agent.Tool { return newSkill(e.LoadSkill) }},
	{memoryTool, func(e *Env) agent.Tool { return newMemory(e.Notes) }},
	{notebookTool, func(e *Env) agent.Tool { return newNotebookEdit(e.Files) }},
	{fetchTool, func(e *Env) agent.Tool { return newWebFetch(&fetcher{e.Internet, &reader{e.Files, e.Programs}}) }},
	{searchTool, func(e *Env) agent.Tool { return newWebSearch(e.Files, e.Internet) }},
	{patchTool, func(e *Env) agent.Tool { return newApplyPatch(e.Files) }},
	{multiEditTool, func(e *Env) agent.Tool { return newMultiEdit(e.Files) }},
	{batchTool, func(e *Env) agent.Tool { return newBatch(e.Invoke) }},
	{openTool, func(e *Env) agent.Tool { return newOpen(e.Files, e.Programs) }},
	{lspTool, func(e *Env) agent.Tool { return newLSP(&coder{e.Files, e.Language}) }},
	{pushTool, func(e *Env) agent.Tool { return newPush(e.Push) }},
	{listAgentsTool, func(e *Env) agent.Tool { return newListAgents(e.Peers) }},
	{sendMessageTool, func(e *Env) agent.Tool { return newSendMessage(e.Peers) }},
	{cronCreateTool, func(e *Env) agent.Tool { return newCronCreate(e.Schedules) }},
	{cronListTool, func(e *Env) agent.Tool { return newCronList(e.Schedules) }},
	{cronDeleteTool, func(e *Env) agent.Tool { return newCronDelete(e.Schedules) }},
	{scheduleWakeupTool, func(e *Env) agent.Tool { return newScheduleWakeup(e.Schedules) }},
	{setGoalTool, func(e *Env) agent.Tool { return newSetGoal(e.Goal) }},
	{workflowTool, func(e *Env) agent.Tool { return newWorkflow(e.Agents) }},
	{monitorTool, func(e *Env) agent.Tool { return newMonitor(&monitors{e.Files, e.Jobs, e.Invoke}) }},
	{toolSearchTool, func(e *Env) agent.Tool { return newToolSearch(e.Deferred) }},
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
