package openai

import (
	"net/url"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// endpoint returns the address of an API under a base URL. "/v1" is added unless the path already
// has a version ("/v1", "/api/v1", "/v1beta/openai", "/paas/v4").
func endpoint(base, api string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return base // Post reports the error
	}
	path := strings.TrimRight(u.Path, "/")
	whole, other := strings.CutSuffix(path, map[string]string{chatAPI: responsesAPI, responsesAPI: chatAPI}[api])
	switch {
	case strings.HasSuffix(path, api): // the whole address
	case other:
		path = whole + api
	case versioned(path):
		path += api
	default:
		path += "/v1" + api
	}
	u.Path, u.RawPath = path, ""
	return u.String()
}

func versioned(path string) bool {
	for seg := range strings.SplitSeq(path, "/") {
		if len(seg) > 1 && seg[0] == 'v' && seg[1] >= '0' && seg[1] <= '9' {
			return true
		}
	}
	return false
}

// isAzure reports whether an address is a resource of Azure OpenAI or AI Foundry.
func isAzure(base string) bool {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return false
	}
	for _, domain := range []string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"} {
		if strings.HasSuffix(strings.ToLower(u.Hostname()), domain) {
			return true
		}
	}
	return false
}

// endpoint returns the address of a model.
func (p *Provider) endpoint(model string, responses bool) string {
	api := chatAPI
	if responses {
		api = responsesAPI
	}
	if p.quirks == azureName {
		return azureEndpoint(p.base, p.version, model, api)
	}
	return endpoint(p.base, api)
}

// azureEndpoint returns an address of Azure OpenAI, which has two forms (Azure OpenAI REST reference): /openai/v1, and,
// with an api-version, /openai/deployments/NAME. The Responses API has no deployments in its path.
func azureEndpoint(base, version, deployment, api string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return base
	}
	q := u.Query()
	if version != "" {
		q.Set("api-version", version)
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), api)
	root, _, deployed := strings.Cut(path, "/openai/deployments")
	switch {
	case strings.HasSuffix(path, "/openai/v1"):
		path += api
	case api == responsesAPI && (deployed || q.Has("api-version")):
		path = strings.TrimSuffix(root, "/openai") + "/openai" + api
	case deployed && strings.Count(path, "/deployments/") == 1: // a deployment is named
		path += api
	case deployed || q.Has("api-version"):
		path = strings.TrimSuffix(root, "/openai") + "/openai/deployments/" + url.PathEscape(deployment) + api
	default:
		path = strings.TrimSuffix(path, "/openai") + "/openai/v1" + api
	}
	u.Path, u.RawPath, u.RawQuery = path, "", q.Encode()
	return u.String()
}

// fromDeployment fills the information of a deployment with a name of the user's own from the longest name of a model
// in it, "team-gpt-5-mini", and returns that name; without one, the deployment's own.
func (p *Provider) fromDeployment(info *llm.ModelInfo) string {
	best := ""
	for _, m := range llm.Known(chatWire) {
		if len(m.ID) > len(best) && strings.Contains(strings.ToLower(info.ID), m.ID) {
			best = m.ID
		}
	}
	if best == "" {
		return info.ID
	}
	id, provider, host := info.ID, info.Provider, info.Host
	*info = llm.Lookup(chatWire, best)
	info.ID, info.Provider, info.Host = id, provider, host
	return best
}
