package provider

import (
	"context"
	"net/url"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// Replay answers for models that are not called.
type Replay interface {
	// Wrap returns a model that encodes requests as m does and sends none.
	Wrap(m llm.Model) llm.Model
	// Embed returns recorded vectors.
	llm.Embedder
}

// Replay has r answer all calls of models from now on. No key is read and no connection is made.
func (all *Set) Replay(r Replay) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.replay, all.providers = r, nil
}

func (all *Set) replaying() Replay {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.replay
}

// sendsNothing takes the place of a cloud's credentials in a replay.
func sendsNothing(context.Context, *llm.Outgoing) error { return nil }

// Addressed returns the provider to which a request with this URL goes, and its base URL if that is not the known
// host's own. An empty name means that the URL does not say it.
func Addressed(requestURL string) (name, base string) {
	longest := 0
	for _, h := range hosts.Table {
		if h.Base != "" && strings.HasPrefix(requestURL, h.Base) && len(h.Base) > longest {
			name, longest = h.Name, len(h.Base)
		}
	}
	if name != "" {
		return name, ""
	}
	u, err := url.Parse(requestURL)
	if err != nil {
		return "", ""
	}
	switch host := u.Hostname(); {
	case strings.HasPrefix(host, "bedrock-runtime."):
		return "bedrock", ""
	case strings.HasSuffix(host, "aiplatform.googleapis.com"):
		return "vertex", ""
	}
	for _, w := range []struct{ name, end string }{{"anthropic", "/v1/messages"}, {"openai", "/chat/completions"}} {
		if path, ok := strings.CutSuffix(u.Path, w.end); ok {
			u.Path, u.RawQuery = path, ""
			return w.name, u.String()
		}
	}
	return "", ""
}
