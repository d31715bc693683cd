package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Embed implements llm.Embedder by POST /embeddings
// (https://platform.openai.com/docs/api-reference/embeddings/create).
func (p *Provider) Embed(ctx context.Context, model string, texts []string) ([][]float32, llm.Usage, error) {
	data, err := json.Marshal(map[string]any{"model": model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return nil, llm.Usage{}, err
	}
	body := &llm.Body{}
	body.Append(data)
	address := p.endpoint(model, false)
	address = strings.Replace(address, chatAPI, "/embeddings", 1)
	reply, err := p.caller.Post(ctx, 1, &llm.Outgoing{URL: address, Header: p.header, Body: body, Model: model}, nil)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	defer reply.Close()
	event, err := reply.Events().Next()
	if err != nil {
		return nil, llm.Usage{}, reply.Failed(ctx, err)
	}
	return vectors(reply, event.Data, len(texts))
}

// vectors reads the vectors of n texts, which servers may send in any order.
func vectors(reply *llm.Reply, data []byte, n int) ([][]float32, llm.Usage, error) {
	var in struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, llm.Usage{}, reply.Broken("the reply has no vectors", data)
	}
	out, usage := make([][]float32, n), llm.Usage{Input: int(max(0, in.Usage.Prompt))}
	for _, d := range in.Data {
		if d.Index >= 0 && d.Index < n {
			out[d.Index] = d.Embedding
		}
	}
	for i, v := range out {
		if len(v) == 0 || len(v) != len(out[0]) {
			return nil, usage, reply.Broken(fmt.Sprintf("text %d of %d has a vector of %d numbers", i+1, n, len(v)), nil)
		}
	}
	return out, usage, nil
}
