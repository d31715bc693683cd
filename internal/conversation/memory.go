package conversation

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
)

// addMemory adds the memory for a file or folder to the result of the call that touched it, as an agent.AfterTool.
func (s *Session) addMemory(_ context.Context, c llm.ToolCall, r *agent.Result) (agent.Verdict, error) {
	if r.IsError {
		return agent.Verdict{}, nil
	}
	for _, path := range namedPaths(c.Input) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Dir(), path)
		}
		if text := s.scoped.For(path); text != "" {
			r.Parts = append(r.Parts, llm.Text{Text: text, Origin: llm.OriginMemory})
		}
	}
	return agent.Verdict{}, nil
}

// namedPaths returns the files and folders that the input of a file tool names.
func namedPaths(input json.RawMessage) (out []string) {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Path     string `json:"path"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil // these fields have other types: it names no file in them
	}
	for _, path := range []string{in.File, in.Notebook, in.Path} {
		if path != "" {
			out = append(out, path)
		}
	}
	return out
}
