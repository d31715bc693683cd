package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// scriptedPrefix begins the id of a model whose replies are in a file.
const scriptedPrefix = "scripted:"

// script is a scripted model behind its own server.
type script struct {
	server *llmtest.Server
	model  llm.Model
}

// scripted returns the model whose replies are in a file, one for all callers. Requests go to a server in this process,
// over the network like any other, which refuses what Anthropic's API refuses.
func (all *Set) scripted(ctx context.Context, id string) (llm.Model, error) {
	client, err := all.client()
	if err != nil {
		return nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if !slices.Contains(all.given, id) {
		return nil, fmt.Errorf("the model %s is a script, which only --model and --small-model may name", id)
	}
	if s, ok := all.scripts[id]; ok {
		return s.model, nil
	}
	file := strings.TrimPrefix(id, scriptedPrefix)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the script of the model: %w", err)
	}
	parsed, err := llmtest.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := script{server: llmtest.New(parsed, llmtest.Options{Vars: map[string]string{"WORKDIR": all.o.Dir}})}
	if err := s.server.Start("127.0.0.1:0"); err != nil {
		return nil, err
	}
	p, err := anthropic.New(anthropic.Config{
		Name: "scripted", BaseURL: s.server.URL(), APIKey: "scripted", HTTP: client,
		Version: all.o.Version,
	})
	if err == nil {
		s.model, err = p.Model(ctx, llm.DefaultModel)
	}
	if err != nil {
		return nil, errors.Join(err, s.server.Close())
	}
	info := s.model.Info()
	info.Price = llm.Price{} // it costs nothing
	s.model = withDescription(s.model, info)
	if all.scripts == nil {
		all.scripts = map[string]script{}
	}
	all.scripts[id] = s
	return s.model, nil
}

// closeScripts ends the servers of scripted models; all.mu is held.
func (all *Set) closeScripts() {
	for _, s := range all.scripts {
		_ = s.server.Close() // no one listens any more
	}
	all.scripts = nil
}
