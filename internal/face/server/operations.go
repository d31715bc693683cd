package server

import (
	"net/http"
	"reflect"
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// operations is the API. Routes, scopes and the OpenAPI document come from it.
func operations() []operation {
	return []operation{
		op("me", "GET /v1/me", "", "Say who sends the request, and what it may do", me),
		secret(op("pair", "POST "+pairPath, "", "Take a pairing code: the only operation without a token", pair)),
		op("logout", "POST /v1/logout", "", "Revoke the own token", logout),
		secret(op("beginPairing", "POST /v1/pairings", Admin, "Make a code that works once, within five minutes", beginPairing)),
		op("listDevices", "GET /v1/devices", Admin, "List the devices", listDevices),
		secret(op("addDevice", "POST /v1/devices", Admin, "Make a device, and show its token once", addDevice)),
		op("revokeDevice", "DELETE /v1/devices/{id}", Admin, "Revoke a device; its streams end", revokeDevice),

		op("listSessions", "GET /v1/sessions", Read, "List sessions, the newest first", listSessions),
		made(op("createSession", "POST /v1/sessions", Prompt, "Begin a session", createSession)),
		op("getSession", "GET /v1/sessions/{id}", Read, "Show a session", getSession),
		op("renameSession", "PATCH /v1/sessions/{id}", Prompt, "Give a session another title", rename),
		made(op("forkSession", "POST /v1/sessions/{id}/fork", Prompt, "Copy a conversation up to an entry", fork)),
		op("stopSession", "POST /v1/sessions/{id}/stop", Prompt, "End the process of a session; a prompt wakes it", stop),
		op("archiveSession", "POST /v1/sessions/{id}/archive", Admin, "Take a session off the lists, for 30 days", archive),
		op("restoreSession", "POST /v1/sessions/{id}/restore", Admin, "Bring an archived session back", restore),
		op("deleteSession", "DELETE /v1/sessions/{id}", Admin, "Delete a session for good", remove),
		by(op("exportSession", "GET /v1/sessions/{id}/export", Read, "Send a session as a file", documented[exportQuery]),
			"text/markdown", (*Server).export),
		op("searchSessions", "GET /v1/search", Read, "Search the messages of sessions", searchSessions),
		op("getUsage", "GET /v1/sessions/{id}/usage", Read, "Say what a session used", usage),
		op("getStatus", "GET /v1/sessions/{id}/status", Read, "Say what a session does; wakes it", status),
		op("readHistory", "GET /v1/sessions/{id}/history", Read, "Read a conversation by pages, from its end", history),
		large(op("sendPrompt", "POST /v1/sessions/{id}/prompts", Prompt, "Send a message to the model", sendPrompt)),
		op("readQueue", "GET /v1/sessions/{id}/queue", Read, "List the messages that wait", readQueue),
		large(op("changeQueue", "POST /v1/sessions/{id}/queue", Prompt, "Change the messages that wait", changeQueue)),
		op("interrupt", "POST /v1/sessions/{id}/interrupt", Prompt, "End the running turn", interrupt),
		op("openQuestions", "GET /v1/sessions/{id}/questions", Read, "List the open questions", openQuestions),
		op("answer", "POST /v1/sessions/{id}/answers", Approve, "Answer a question; the first valid answer counts", answer),
		op("runCommand", "POST /v1/sessions/{id}/commands", Read, "Run a slash command, if the device may", runCommand),
		op("complete", "GET /v1/sessions/{id}/completions", Read, "Complete what is typed", complete),

		op("listFiles", "GET /v1/sessions/{id}/files", Read, "List a folder", listFiles),
		op("readFile", "GET /v1/sessions/{id}/file", Read, "Read a text file", readFile),
		by(op("rawFile", "GET /v1/sessions/{id}/raw", Read, "Read a file as it is", documented[fileQuery]),
			"application/octet-stream", (*Server).rawFile),

		op("searchFiles", "GET /v1/sessions/{id}/search", Read, "Search names or content of files", searchFiles),
		op("getDiff", "GET /v1/sessions/{id}/diff", Read, "Show what a session or one of its turns changed", diffs),
		op("undo", "POST /v1/sessions/{id}/undo", Prompt, "Take changes of files back", undo),
		op("redo", "POST /v1/sessions/{id}/redo", Prompt, "Bring back what undo took back", redo),

		op("listProjects", "GET /v1/projects", Read, "List the folders of sessions", listProjects),
		op("listModels", "GET /v1/models", Read, "List the models that can be chosen", listModels),
		op("listModes", "GET /v1/modes", Read, "List the permission modes", listModes),
		op("readSettings", "GET /v1/settings", Read, "Read settings with their origins", readSettings),
		op("writeSettings", "PUT /v1/settings", Admin, "Change a setting that did not change since it was read", writeSettings),
		op("getSessionSettings", "GET /v1/sessions/{id}/settings", Read, "Read the settings of its folder", sessionSettings),
		op("getMCP", "GET /v1/sessions/{id}/mcp", Read, "Show the MCP servers, as /mcp does", view("mcp")),
		op("getAgents", "GET /v1/sessions/{id}/agents", Read, "Show the kinds of agents, as /agents does", view("agents")),
		op("getHooks", "GET /v1/sessions/{id}/hooks", Read, "Show the hooks, as /hooks does", view("hooks")),
		op("getContext", "GET /v1/sessions/{id}/context", Read, "Show the context window, as /context does", view("context")),

		by(op("events", "GET /v1/events", Read, "Stream the events of many sessions", documented[eventsQuery]),
			"text/event-stream", (*Server).events),
	}
}

// made is an operation that makes something.
func made(o operation) operation {
	o.made = http.StatusCreated
	return o
}

// secret is an operation that makes something which only its answer shows.
func secret(o operation) operation {
	o.secret = true
	return made(o)
}

// large lets an operation take images.
func large(o operation) operation {
	o.body = mostPrompt
	return o
}

// by has an operation written by a handler.
func by(o operation, mime string, h func(*Server, http.ResponseWriter, *http.Request)) operation {
	o.mime, o.raw = mime, h
	return o
}

// documented takes the place of an operation's function that a handler serves.
func documented[In any](*Server, *call, In) (none, error) { return none{}, nil }
