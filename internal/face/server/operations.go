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
		made(op("pair", "POST "+pairPath, "", "Take a pairing code: the only operation without a token", pair)),
		op("logout", "POST /v1/logout", "", "Revoke the own token", logout),
		made(op("beginPairing", "POST /v1/pairings", Admin, "Make a code that works once, within five minutes", beginPairing)),
		op("listDevices", "GET /v1/devices", Admin, "List the devices", listDevices),
		made(op("addDevice", "POST /v1/devices", Admin, "Make a device, and show its token once", addDevice)),
		op("revokeDevice", "DELETE /v1/devices/{id}", Admin, "Revoke a device; its streams end", revokeDevice),

		op("listSessions", "GET /v1/sessions", Read, "List sessions, the newest first", listSessions),
		made(op("createSession", "POST /v1/sessions", Prompt, "Begin a session", createSession)),
		op("getSession", "GET /v1/sessions/{id}", Read, "Show a session", getSession),
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

		by(op("events", "GET /v1/events", Read, "Stream the events of many sessions", documented[eventsQuery]),
			"text/event-stream", (*Server).events),
	}
}

// made is an operation that makes something.
func made(o operation) operation {
	o.made = http.StatusCreated
	return o
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
