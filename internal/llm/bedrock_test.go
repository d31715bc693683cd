package llm

import "testing"

func TestOlderModelsHaveNoCacheOnBedrock(t *testing.T) {
	for id, want := range map[string]bool{
		"anthropic.claude-3-haiku-20240307-v1:0":            false,
		"us.anthropic.claude-3-5-sonnet-20240620-v1:0":      false,
		"us.anthropic.claude-3-5-haiku-20241022-v1:0":       true,
		"eu.anthropic.claude-3-7-sonnet-20250219-v1:0":      true,
		"global.anthropic.claude-sonnet-4-5-20250929-v1:0":  true,
		"arn:aws:bedrock:eu-west-1:1:inference-profile/x.y": true,
	} {
		if got := CachedOnBedrock(id); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}
