package internal_test

// waitsThatEnd are the functions that wait for something without also waiting for a context or a time limit, by the
// reason why each wait ends all the same. A name is that of the package below internal, the type and the function; the
// number of its waits follows where there are several.
var waitsThatEnd = map[string][]string{
	"the channel has room for all that is ever put into it": {
		"approval.Questions.Answer", "cli.controller.hostGone", "cli.controller.replied", "cli.slurp", "files.Index.Search",
		"files.Index.hold",
		"files.NewIndex", "llm/openai.socketConn.makeRoom", "mcp/remote.SSE.read", "mcp/rpc.Conn.answered",
		"mcp/rpc.Conn.lost",
		"mcp/serve.session.answered", "netproxy.Proxy.leave", "prompt.Begin 3", "prompt.start", "repl.editor.read",
		"repl.reader.read",
		"subagent.NewSlots", "subagent.Slots.give", "tui.terminal.write",
	},
	"the work that it waits for has the context, and ends with it": {
		"best.Runner.Run", "cli.demo.work", "customtool.Set.describeAll", "eval.Gate.vote", "eval.Models.Compare",
		"git.Git.Info", "hook.Hooks.fire",
		"lsp.Seat.change", "lsp.run.pullAll", "mcp.Set.SetServers", "mcp.Set.Wait", "mcp.View.connectOwn",
		"plugin/process.Joined.sections",
		"plugin/process.ask", "subagent.Agents.Run", "team.Runner.work", "tool.bashCall.runFore", "tool.search.native",
		"tool.search.ripgrep",
	},
	"the turn leaves the queue of its calls a second after it was interrupted, whatever they wait for (agent.abandonAfter)": {
		"agent.Agent.before", "agent.queue.judge", "agent.queue.next", "agent.queue.resolve", "agent.queue.schedule",
		"agent.queue.start 2",
	},
	"a process ends with its context or the Runner: SIGTERM, a grace, two seconds of SIGKILL, then it is left alone": {
		"hook.Hooks.attended", "sandbox.Proc.End", "sandbox.Proc.Wait", "sandbox.Runner.Close", "sandbox.Runner.Run",
		"tool.bashProc.wait",
	},
	"the process has ended, or was just killed": {
		"boundary.leaves", "lsp.run.explain", "mcp.server.process", "sandbox.Proc.entered", "sandbox.tree.assign",
		"sandbox/confine.Child.Start",
		"sandbox/confine.Probe 2", "tool.Env.open",
	},
	"it waits for a process beside the one that has a way out": {
		"sandbox.Proc.supervise 2", "sandbox.reaper.begin", "sandbox.tree.waitLeader 2", "sandbox/confine.probeRestricted",
	},
	"the file or connection that is read was closed just before, or has a deadline": {
		"boundary.onChange", "boundary.ownProxy.pass", "netproxy.Local.pass 2", "netproxy.Proxy.pipe",
		"plugin/process.pipe.Close", "sandbox.Piped.Shut",
		"sandbox.output.drain", "sandbox.reaper.close", "tool.terminal.copy",
	},
	"what it waits for was told to end just before": {
		"cli.controller.idle", "cli.local.background", "cli.program.servedTools", "config.Config.Watch",
		"console.Commands.Close",
		"console.Console.Close", "console.Console.drawLines 2", "console.teamwork.leave", "event.Recorder.Close",
		"files.watching.close",
		"files/watch.Watcher.Close", "hook.Hooks.Close", "language.Folder.Install", "lsp.Pool.Close", "lsp.run.waitEnd",
		"mcp.Set.Close",
		"mcp.View.endOwn", "mcp.hostTransport.Close", "mcp/remote.queue.stop", "mcp/rpc.Conn.Close", "netproxy.Local.Close",
		"netproxy.Local.Serve",
		"netproxy.Proxy.Close", "plugin/process.Joined.Close", "plugin/process.Process.close", "plugin/process.Set.Close",
		"subagent.Agents.Close",
		"tool.Background.Close", "tool.Background.end",
	},
	"it is a goroutine of its own, which its owner ends by closing a channel or what it reads": {
		"cli.callLines.read 2", "cli.program.pasted", "cli.watcher.watch", "files.watching.run", "files/watch.Watcher.run 2",
		"files/watch.loop.findFolders 2", "files/watch.source.pass", "llm/openai.socketConn.read", "lsp.frames.write",
		"mcp.server.untilDone",
		"netproxy.clientListener.Accept", "netproxy.clientListener.put", "plugin/process.Process.watch",
		"plugin/process.pipe.write",
		"repl.editor.run 2", "repl.keyQueue.read", "repl.reader.run 2", "repl.repl.pump", "repl.repl.report",
		"sandbox.spawnLoop",
		"subagent.Slots.takeBack", "tool.pool.work", "tui.terminal.startReading", "tui.terminal.startWriting",
		"tui.terminal.watchSize", "tui.watchEnd 2",
	},
	"it waits for local files to be read or written, which no context ends": {
		"mcp.Set.choose", "session.Session.syncLog", "snapshot.Plan.Apply", "snapshot.Store.Begin", "snapshot.Store.Close 2",
		"snapshot.Store.List",
		"snapshot.Store.Prune", "snapshot.Store.Uncovered", "snapshot.Store.Verify", "snapshot.Store.copySome",
		"snapshot.Store.update 2",
		"snapshot.scan.leaveToGit", "snapshot.scan.read 3", "tool.pool.flush", "tool.pool.within", "window.gathered.take 2",
	},
	"the other side is on its way to it, and waits for nothing": {
		"mcp.server.whenIdle", "mcp/serve.Stdio", "sandbox.spawner.do",
	},
	"it gives back what it just took": {"files.Index.Close"},
}
