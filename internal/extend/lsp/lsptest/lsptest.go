// Package lsptest is a language server with fixed answers, for tests.
//
// The test binary is the server: its TestMain calls [Serve] before anything else, and [Pool] starts the binary again.
package lsptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Variable is the environment variable with the folder of a server's answers, in the file "answers".
const Variable = "LATHE_LSPTEST"

// Extension is that of the server's files.
const Extension = ".fk"

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result"`
}

// Serve is the server, until its input ends. False: this process is no server.
func Serve() bool {
	dir := os.Getenv(Variable)
	if dir == "" {
		return false
	}
	in := bufio.NewReader(os.Stdin)
	for {
		m, err := receive(in)
		if err != nil {
			return true
		}
		if log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintf(log, "%s %s\n", m.Method, m.Params)
			_ = log.Close()
		}
		if m.Method == "exit" {
			return true
		}
		if len(m.ID) > 0 {
			answer(dir, m)
		}
	}
}

func receive(in *bufio.Reader) (m message, err error) {
	head, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil {
		return m, err
	}
	size, err := strconv.Atoi(head.Get("Content-Length"))
	if err != nil {
		return m, err
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(in, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

func answer(dir string, m message) {
	var answers map[string]json.RawMessage
	if data, err := os.ReadFile(filepath.Join(dir, "answers")); err == nil {
		_ = json.Unmarshal(data, &answers)
	}
	reply := message{JSONRPC: "2.0", ID: m.ID, Result: answers[m.Method]}
	if m.Method == "initialize" {
		provides := map[string]any{"textDocumentSync": 2, "positionEncoding": answers["positionEncoding"]}
		for _, what := range []string{
			"definition", "references", "rename", "hover", "codeAction", "workspaceSymbol",
			"documentSymbol",
		} {
			provides[what+"Provider"] = true
		}
		reply.Result = map[string]any{"capabilities": provides}
	}
	body, _ := json.Marshal(reply)
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// Server is the server of a [lsp.Pool].
type Server struct {
	t   testing.TB
	dir string
	mu  sync.Mutex
}

// Pool makes a pool whose server of files with [Extension] gives these answers, by method; others are null. The answer
// to "positionEncoding" is how it counts characters.
func Pool(t testing.TB, answers map[string]any) (*lsp.Pool, *Server) {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir()}
	s.Answer(answers)
	runner := sandbox.New()
	p := lsp.New(lsp.Options{
		Settings: func() lsp.Settings {
			return lsp.Settings{
				Enabled: true, WaitMs: 10, StartMs: 20_000, RequestMs: 20_000,
				Servers: map[string]lsp.Definition{"fixed": Definition(s)},
			}
		},
		Environ: os.Environ, Trusted: func() bool { return true }, Confined: func() bool { return false },
		Launch: func(ctx context.Context, argv []string, dir string, env map[string]string, stderr *lsp.Log) (*sandbox.Piped,
			func(), error,
		) {
			c, err := runner.StartPiped(ctx, sandbox.Spec{Argv: argv, Dir: dir, Env: sandbox.CleanEnv(os.Environ(),
				sandbox.Options{Set: env}), Stderr: stderr})
			return c, func() {}, err
		},
		Notice: func(text string) { t.Log(text) },
	})
	t.Cleanup(func() { p.Close(); runner.Close() })
	return p, s
}

// Definition is that of the server, for settings.
func Definition(s *Server) lsp.Definition {
	return lsp.Definition{
		Command: []string{os.Args[0]}, Languages: map[string]string{Extension: "fixed"},
		Env: map[string]string{Variable: s.dir},
	}
}

// Answer replaces the answers.
func (s *Server) Answer(answers map[string]any) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := json.Marshal(answers)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "answers"), data, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// Log has the messages that the server was sent, a line each: the method and its parameters.
func (s *Server) Log() string {
	data, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(data)
}

// Edit is a change of a part of one line, as the protocol has it; lines and characters count from 0.
func Edit(line, from, to int, text string) map[string]any {
	at := func(c int) map[string]int { return map[string]int{"line": line, "character": c} }
	return map[string]any{"range": map[string]any{"start": at(from), "end": at(to)}, "newText": text}
}

// Place is a location at the start of a line, which counts from 0.
func Place(path string, line int) map[string]any {
	return map[string]any{"uri": "file://" + filepath.ToSlash(path), "range": Edit(line, 0, 1, "")["range"]}
}
