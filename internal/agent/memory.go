package agent

import (
	"context"
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Memory is a Transcript that keeps nothing beyond the process: for single tool calls, judges and tests.
type Memory struct {
	mu      sync.Mutex
	msgs    []llm.Message
	calls   []llm.ToolCall            // of the last reply
	results map[string]llm.ToolResult // also of calls whose reply still streams
}

// Messages is the conversation so far; results enter it when all calls of a reply have theirs.
func (m *Memory) Messages() []llm.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.msgs[:len(m.msgs):len(m.msgs)]
}

// Revision is constant: nothing is ever taken back.
func (m *Memory) Revision() int { return 0 }

// AddUser adds a user message.
func (m *Memory) AddUser(_ context.Context, msg llm.Message, _, _ bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.msgs = append(m.msgs, msg)
	return nil
}

// AddPart does nothing: the reply brings its parts.
func (m *Memory) AddPart(context.Context, int, llm.Part) error { return nil }

// AddReply adds a reply.
func (m *Memory) AddReply(_ context.Context, msg llm.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.msgs = append(m.msgs, msg)
	m.calls = msg.Calls()
	m.settle()
	return nil
}

// StartCall does nothing.
func (m *Memory) StartCall(context.Context, session.CallStart, bool) error { return nil }

// EndCall notes a result.
func (m *Memory) EndCall(_ context.Context, end session.CallEnd) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if end.Invoked {
		return nil
	}
	if m.results == nil {
		m.results = map[string]llm.ToolResult{}
	}
	m.results[end.Result.CallID] = end.Result
	m.settle()
	return nil
}

// EndTurn does nothing.
func (m *Memory) EndTurn(context.Context, session.TurnEnd) error { return nil }

// settle adds the message of results once it is whole.
func (m *Memory) settle() {
	if len(m.calls) == 0 {
		return
	}
	parts := make([]llm.Part, 0, len(m.calls))
	for _, c := range m.calls {
		r, ok := m.results[c.ID]
		if !ok {
			return
		}
		parts = append(parts, r)
	}
	m.msgs = append(m.msgs, llm.Message{Role: llm.User, Parts: parts})
	m.calls, m.results = nil, nil
}
