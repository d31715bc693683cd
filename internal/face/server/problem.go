package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

// Problem is an error as it is sent (RFC 9457), with the next move.
type Problem struct {
	Type   string `json:"type"` // lathe:NAME
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Next   string `json:"next" jsonschema:"what to do about it"`
}

func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// problem makes one; name is the last part of its type.
func problem(status int, name, title, detail, next string) *Problem {
	return &Problem{Type: "lathe:" + name, Title: title, Status: status, Detail: detail, Next: next}
}

func badRequest(detail, next string) *Problem {
	return problem(http.StatusBadRequest, "bad-request", "The request cannot be read", detail, next)
}

func notFound(detail, next string) *Problem {
	return problem(http.StatusNotFound, "not-found", "There is no such thing", detail, next)
}

func forbidden(detail, next string) *Problem {
	return problem(http.StatusForbidden, "forbidden", "This is not allowed", detail, next)
}

// problemOf is any error as a problem.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	for _, known := range []struct {
		err         error
		status      int
		name, title string
		next        string
	}{
		{port.ErrTurnOver, http.StatusConflict, "turn-over", "That turn is over", "send it without naming a turn"},
		{event.ErrNoQuestion, http.StatusConflict, "no-question", "The question is not open", "read the open questions"},
		{port.ErrRefused, http.StatusForbidden, "refused", "The session refused it", "let another device do it"},
		{event.ErrCursor, http.StatusBadRequest, "cursor", "The cursor leads nowhere", "begin without a cursor"},
		{fs.ErrNotExist, http.StatusNotFound, "not-found", "There is no such thing", "list what there is"},
		{fs.ErrPermission, http.StatusForbidden, "forbidden", "This is not allowed", "ask the user of the machine"},
	} {
		if errors.Is(err, known.err) {
			return problem(known.status, known.name, known.title, err.Error(), known.next)
		}
	}
	if _, ok := errors.AsType[*port.Failure](err); ok {
		return problem(http.StatusUnprocessableEntity, "failed", "The session could not do it", err.Error(),
			"change the request as the detail says")
	}
	return problem(http.StatusBadGateway, "unreachable", "The session could not be reached", err.Error(),
		"send the same request again; lathe logs shows what its process said")
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	h.Del("ETag")
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the peer may have gone
}
