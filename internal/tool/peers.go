package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed listagents.md
var listAgentsDescription string

//go:embed sendmessage.md
var sendMessageDescription string

// Peer is another session of this machine that has a process.
type Peer struct{ ID, Name, State, Dir, Activity string }

// Handle is how a prompt or a message names the session: its name in one word, or its id.
func (p Peer) Handle() string {
	word := strings.ToLower(strings.Join(strings.FieldsFunc(p.Name, func(r rune) bool {
		return r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r < 0x80
	}), "-"))
	if word == "" {
		return p.ID
	}
	return word
}

// Peers are the other sessions of this machine, and what they sent.
type Peers interface {
	List(ctx context.Context) ([]Peer, error)
	// Send sends a message to the session that a handle or an id names. The outcome is for the model.
	Send(ctx context.Context, to, text string) (outcome string, err error)
	// Letters returns the messages that came and that the model did not get yet, each once.
	Letters() []string
}

// Names of the tools for other sessions.
const (
	ListAgentsName  = "ListAgents"
	SendMessageName = "SendMessage"
)

type sendMessageInput struct {
	To      string `json:"to" jsonschema:"the name or the id of a session, from ListAgents" limits:"minLength=1"`
	Message string `json:"message" limits:"minLength=1"`
}

var listAgentsTool = call.Declaration{
	Name: ListAgentsName, Schema: json.RawMessage(`{"type":"object","properties":{}}`),
	Class: permission.ClassNeutral, Deferred: true, Accesses: call.Session(ListAgentsName),
}

// What a message may bring about is decided by its receiver, so a call does not ask.
var sendMessageTool = call.Declaration{
	Name: SendMessageName, Input: schemaOf[sendMessageInput](), Class: permission.ClassNeutral, Deferred: true,
	Params:   map[string]string{"to": "recipient name agent", "message": "text content body"},
	Accesses: call.Session(SendMessageName),
}

var errNoPeers = errors.New("this session reaches no others")

func newListAgents(peers Peers) agent.Tool {
	return newTool(listAgentsTool, listAgentsDescription, func(context.Context, llm.ToolCall,
		struct{},
	) (*agent.Plan, error) {
		return &agent.Plan{
			Accesses: call.SessionOnly(ListAgentsName), Title: "other sessions", Parallel: true,
			Run: func(ctx context.Context) (*agent.Result, error) {
				if peers == nil {
					return nil, errNoPeers
				}
				all, err := peers.List(ctx)
				if err != nil {
					return nil, err
				}
				return peerList(all), nil
			},
		}, nil
	})
}

func peerList(all []Peer) *agent.Result {
	lines := make([]string, len(all))
	for i, p := range all {
		lines[i] = strings.TrimSuffix(fmt.Sprintf("%s (%s): %s in %s; %s", p.Handle(), p.ID, p.State, p.Dir, p.Activity),
			"; ")
	}
	text := strings.Join(lines, "\n")
	if len(all) == 0 {
		text = "No other session has a process now."
	}
	return &agent.Result{
		Parts: []llm.Part{llm.Text{Text: text}}, Title: "other sessions", Meta: map[string]any{"sessions": len(all)},
		View: event.Listing{Title: "other sessions", Items: lines, Total: len(lines)},
	}
}

func newSendMessage(peers Peers) agent.Tool {
	return newTool(sendMessageTool, sendMessageDescription, func(_ context.Context, _ llm.ToolCall,
		in sendMessageInput,
	) (*agent.Plan, error) {
		title := "to " + in.To
		return &agent.Plan{
			Accesses: call.SessionOnly(SendMessageName), Title: title,
			Run: func(ctx context.Context) (*agent.Result, error) {
				if peers == nil {
					return nil, errNoPeers
				}
				outcome, err := peers.Send(ctx, strings.TrimPrefix(in.To, "@"), in.Message)
				if err != nil {
					return nil, err
				}
				return told(title, outcome, in.Message), nil
			},
		}, nil
	})
}

// told is the result of a call that told somebody something.
func told(title, outcome, text string) *agent.Result {
	return &agent.Result{
		Parts: []llm.Part{llm.Text{Text: outcome}}, Title: title, View: event.TextView{Text: text},
		Meta: map[string]any{"outcome": outcome},
	}
}
