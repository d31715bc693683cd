package provider

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/cloud"
	"github.com/lathe-dev/lathe/internal/llm/converse"
	"github.com/lathe-dev/lathe/internal/llm/google"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// azureHost is the name of Azure in the table of hosts.
const azureHost = "azure"

// getenv returns a variable of the settings' env, else of lathe's environment.
func (all *Set) getenv(name string) string {
	if v, ok := all.o.Settings().Env[name]; ok {
		return v
	}
	if all.o.Environ == nil {
		return ""
	}
	for _, kv := range all.o.Environ() {
		if key, value, _ := strings.Cut(kv, "="); key == name {
			return value
		}
	}
	return ""
}

// switched returns the host that a variable chooses, or "".
func (all *Set) switched() string {
	for _, h := range hosts.Table {
		if h.Switch != "" && isSet(all.getenv(h.Switch)) {
			return h.Name
		}
	}
	return ""
}

func isSet(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// cloudReady reports whether the user wants a host whose credentials are those of a cloud.
func (all *Set) cloudReady(h hosts.Host) bool {
	s := all.o.Settings()
	_, named := s.Providers[h.Name]
	return h.Switch != "" && (s.Provider == h.Name || named || isSet(all.getenv(h.Switch)))
}

// openBedrock connects to the models of Amazon Bedrock in the region of the environment or the profile.
func openBedrock(c connection) (llm.Provider, error) {
	region := cmp.Or(cloud.AWSRegion(c.cloud), "us-east-1")
	base := cmp.Or(c.set.APIBase, "https://bedrock-runtime."+region+".amazonaws.com")
	if c.prepare == nil && !isSet(c.cloud.Getenv("CLAUDE_CODE_SKIP_BEDROCK_AUTH")) {
		c.prepare = cloud.AWS(c.cloud, region)
	}
	if key := c.set.APIKey; key != "" && c.cloud.Getenv("AWS_BEARER_TOKEN_BEDROCK") == "" {
		outer := c.cloud.Getenv
		o := c.cloud
		o.Getenv = func(name string) string {
			if name == "AWS_BEARER_TOKEN_BEDROCK" {
				return key
			}
			return outer(name)
		}
		c.prepare = cloud.AWS(o, region)
	}
	others := converse.New(converse.Config{
		Name: c.name, BaseURL: base, Headers: c.set.Headers, HTTP: c.http, Retry: c.retry,
		StallTimeout: c.stall, HeaderTimeout: c.header, ContentTimeout: c.content,
		Prepare: c.prepare,
		KeyVar:  place(c.name, "apiKey"), URLVar: place(c.name, "apiBase"), CacheTTL: c.cacheTTL,
	})
	if c.set.Type == converseWire {
		if c.task > 0 {
			return nil, noTaskBudget(c.name)
		}
		return bedrockModels{name: c.name, region: region, others: others}, nil
	}
	claude, err := newClaude(c, anthropic.Bedrock, base, region)
	if err != nil {
		return nil, err
	}
	return bedrockModels{c.name, region, claude, others}, nil
}

// bedrockModels are the models of a region of Bedrock: Anthropic's by their own API, unless that is nil, and all others
// by Converse.
type bedrockModels struct {
	name, region   string
	claude, others llm.Provider
}

func (b bedrockModels) Name() string { return b.name }

func (b bedrockModels) Model(ctx context.Context, id string) (llm.Model, error) {
	switch {
	case !isClaude(id):
		return b.others.Model(ctx, id)
	case b.claude == nil:
		return b.others.Model(ctx, anthropic.Bedrock.ModelID(id, b.region))
	}
	return b.claude.Model(ctx, id)
}

// isClaude reports whether a name of Bedrock's is one of a model of Anthropic's. An inference profile that the user
// made does not tell; such ones are mostly made for Claude.
func isClaude(id string) bool {
	return strings.Contains(id, "claude") || strings.Contains(id, "anthropic.") || strings.Contains(id,
		":application-inference-profile/")
}

func newClaude(c connection, where anthropic.Cloud, base, region string) (llm.Provider, error) {
	if c.task > 0 {
		return nil, noTaskBudget(c.name)
	}
	return anthropic.New(anthropic.Config{
		Name: c.name, BaseURL: base, Headers: c.set.Headers, Betas: c.set.Betas, HTTP: c.http, Retry: c.retry,
		StallTimeout: c.stall, HeaderTimeout: c.header, ContentTimeout: c.content,
		ThinkingTokens: c.thinking, Version: c.version, Prepare: c.prepare, CacheTTL: c.cacheTTL, Cloud: where,
		Region: region,
		KeyVar: place(c.name, "apiKey"), URLVar: place(c.name, "apiBase"),
	})
}

// vertexModels are the models of a project in Vertex AI: Anthropic's, and Google's own.
type vertexModels struct {
	name           string
	claude, gemini llm.Provider
}

func (v vertexModels) Name() string { return v.name }

func (v vertexModels) Model(ctx context.Context, id string) (llm.Model, error) {
	if strings.HasPrefix(id, "gemini") {
		return v.gemini.Model(ctx, id)
	}
	return v.claude.Model(ctx, id)
}

// openVertex connects to a project in Vertex AI.
func openVertex(c connection) (llm.Provider, error) {
	env := c.cloud.Getenv
	project := cmp.Or(env("ANTHROPIC_VERTEX_PROJECT_ID"), env("GOOGLE_VERTEX_PROJECT"), env("GOOGLE_CLOUD_PROJECT"),
		env("GCLOUD_PROJECT"))
	location := cmp.Or(env("CLOUD_ML_REGION"), env("GOOGLE_VERTEX_LOCATION"), env("GOOGLE_CLOUD_LOCATION"), "global")
	if project == "" {
		return nil, fmt.Errorf("the provider %s needs the project: set ANTHROPIC_VERTEX_PROJECT_ID", c.name)
	}
	base := c.set.APIBase
	if base == "" {
		base = "https://" + location + "-aiplatform.googleapis.com/v1"
		if location == "global" {
			base = "https://aiplatform.googleapis.com/v1"
		}
	}
	if !strings.Contains(base, "/v1") {
		base = strings.TrimRight(base, "/") + "/v1"
	}
	base = fmt.Sprintf("%s/projects/%s/locations/%s/publishers/", strings.TrimRight(base, "/"), project, location)
	if c.prepare == nil && !isSet(env("CLAUDE_CODE_SKIP_VERTEX_AUTH")) {
		c.prepare = cloud.Google(c.cloud)
	}
	claude, err := newClaude(c, anthropic.Vertex, base+"anthropic", "")
	if err != nil {
		return nil, err
	}
	return vertexModels{c.name, claude, google.New(google.Config{
		Name: c.name, BaseURL: base + "google", Headers: c.set.Headers, HTTP: c.http, Retry: c.retry,
		StallTimeout: c.stall, HeaderTimeout: c.header, ContentTimeout: c.content,
		KeyVar: "GOOGLE_APPLICATION_CREDENTIALS", URLVar: place(c.name, "apiBase"), Prepare: c.prepare,
	})}, nil
}
