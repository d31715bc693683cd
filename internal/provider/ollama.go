package provider

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ollamaHost is the name of Ollama in the table of hosts.
const ollamaHost = "ollama"

// ollamaWait is how long a local Ollama may take to list its models.
const ollamaWait = 500 * time.Millisecond

// localServer is an Ollama on this machine that no one configured.
type localServer struct {
	once sync.Once
	mu   sync.Mutex
	base string // for requests; "": there is none
	name string
}

// foundServer is the address of a local server, and the model that it lists first.
type foundServer struct{ base, model string }

func (l *localServer) found() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base
}

// localServer asks once whether an Ollama with models runs on this machine, at OLLAMA_HOST or its usual port. It is
// asked only where no other provider can be called.
func (all *Set) localServer() foundServer {
	l := &all.local
	l.once.Do(func() {
		if all.o.Environ == nil {
			return
		}
		base := ollamaBase(all.getenv("OLLAMA_HOST"))
		if model := firstModel(base); model != "" {
			l.mu.Lock()
			l.base, l.name = base+"/v1", model
			l.mu.Unlock()
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	return foundServer{l.base, l.name}
}

// ollamaBase completes OLLAMA_HOST, which may lack the scheme and the port.
func ollamaBase(host string) string {
	if host == "" || strings.HasPrefix(host, "0.0.0.0") {
		host = "127.0.0.1" + strings.TrimPrefix(host, "0.0.0.0")
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	scheme, rest, _ := strings.Cut(host, "://")
	if !strings.Contains(rest, ":") {
		rest = strings.TrimSuffix(rest, "/") + ":11434"
	}
	return scheme + "://" + strings.TrimSuffix(rest, "/")
}

// firstModel returns the model that an Ollama lists first; "": nothing answers, or it has none.
func firstModel(base string) string {
	ctx, cancel := context.WithTimeout(context.Background(), ollamaWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/tags", nil)
	if err != nil {
		return ""
	}
	transport := &http.Transport{DisableKeepAlives: true} // no proxy: it is this machine
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostList))
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(b, &list) != nil || len(list.Models) == 0 {
		return ""
	}
	return list.Models[0].Name
}
