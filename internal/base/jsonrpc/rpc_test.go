package jsonrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// pipe is a transport whose other end is the test.
type pipe struct {
	in   chan string
	sent chan string
	over chan struct{}
}

func (p *pipe) Send(_ context.Context, b []byte) error {
	p.sent <- string(b)
	return nil
}

func (p *pipe) Receive() ([]byte, error) {
	select {
	case s := <-p.in:
		return []byte(s), nil
	case <-p.over:
		return nil, io.EOF
	}
}

func (p *pipe) Close() error {
	close(p.over)
	return nil
}

func TestOnlySoManyRequestsOfAPeerAreServedAtOneTime(t *testing.T) {
	p := &pipe{in: make(chan string), sent: make(chan string, 100), over: make(chan struct{})}
	odd, begun, noted, release := make(chan string, 100), make(chan struct{}, 100), make(chan struct{}),
		make(chan struct{})
	c := jsonrpc.New(p, jsonrpc.Handler{
		Request: func(context.Context, string, json.RawMessage) (any, *jsonrpc.Error) {
			begun <- struct{}{}
			<-release
			return map[string]any{}, nil
		},
		Notify: func(string, json.RawMessage) { close(noted) },
		Odd:    func(line string) { odd <- line },
	})
	const most, all = 16, 40
	for i := range all {
		p.in <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, i)
	}
	for range most {
		<-begun
	}
	p.in <- `{"jsonrpc":"2.0","method":"n"}`
	<-noted // after the requests
	if n := len(odd); n != all-most {
		t.Errorf("%d requests are refused, not %d", n, all-most)
	}
	for range len(odd) {
		if line := <-odd; !strings.Contains(line, "too many requests at one time") {
			t.Errorf("%q", line)
		}
	}
	close(release)
	for range most {
		<-p.sent
	}
	for answered := false; !answered; { // the places are given back, just after the answers
		p.in <- `{"jsonrpc":"2.0","id":"again","method":"m"}`
		select {
		case <-p.sent:
			answered = true
		case <-odd:
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
