package llm_test

import (
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/llm/openai"
)

// BenchmarkLinkSteps measures what BenchmarkLink does with the client and the scripted server of Responses: 100 steps,
// whose input grows by 5 kB to 500 kB, over HTTP/2 and over a WebSocket, until the reply is complete. The server's own
// work is in it.
func BenchmarkLinkSteps(b *testing.B) {
	if os.Getenv("LATHE_BENCH_LINK") == "" {
		b.Skip("it takes some minutes: set LATHE_BENCH_LINK=1")
	}
	for name, l := range map[string]link{"delay": {}, "slow-start": {slow: true}, "slow-start-20-Mbit": {
		slow: true,
		rate: 2.5e6,
	}} {
		for way, socket := range map[string]bool{"http": false, "websocket": true} {
			b.Run(name+"/"+way, func(b *testing.B) {
				for range b.N {
					takeSteps(b, l, socket)
				}
			})
		}
	}
}

func takeSteps(b *testing.B, l link, socket bool) {
	const steps, grow = 100, 5000
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	var replies []llmtest.Reply
	for i := range steps {
		replies = append(replies, llmtest.Say(llmtest.Tool("Read", map[string]any{"n": i})))
	}
	srv := llmtest.New(llmtest.Replies(replies...), llmtest.Options{
		Lenient: true, NoKey: true, TLS: &tls.Config{
			Certificates: cert.TLS.Certificates,
			NextProtos:   []string{"h2", "http/1.1"},
		},
	})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	ca := filepath.Join(b.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate().Raw}),
		0o600); err != nil {
		b.Fatal(err)
	}
	client, err := llm.HTTPClient(llm.HTTPOptions{Proxy: "none", CACerts: []string{ca}})
	if err != nil {
		b.Fatal(err)
	}
	defer client.CloseIdleConnections()
	p := openai.New(openai.Config{
		BaseURL: "https://" + l.serve(b, strings.TrimPrefix(srv.URL(), "https://")), HTTP: client, Responses: true,
		WebSocket: socket,
	})
	m, err := p.Model(b.Context(), "gpt-5.1")
	if err != nil {
		b.Fatal(err)
	}
	req := &llm.Request{
		Messages: []llm.Message{llm.UserText("Read all files.")},
		Tools:    []llm.ToolSpec{{Name: "Read", Schema: []byte(`{"type":"object","properties":{}}`)}},
	}
	var all time.Duration
	for range steps {
		start := time.Now()
		for d, err := range m.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
			if done, ok := d.(llm.Done); ok {
				call := done.Message.Calls()[0]
				req.Messages = append(req.Messages, done.Message,
					llm.Message{Role: llm.User, Parts: []llm.Part{llm.TextResult(call, llmtest.Fill(grow), false)}})
			}
		}
		all += time.Since(start)
		time.Sleep(400 * time.Millisecond)
	}
	sent := 0
	for _, r := range srv.Requests() {
		if sent += r.Bytes; (r.Socket > 0) != socket {
			b.Fatalf("request %d was message %d on a WebSocket", r.N, r.Socket)
		}
	}
	b.ReportMetric(float64(all.Milliseconds())/steps, "ms/step")
	b.ReportMetric(float64(sent)/1e3/steps, "kB/step")
}
