package llm

import "strings"

// CachedOnBedrock reports whether Bedrock keeps the prompts of a model of Anthropic's in a cache. It refuses cache
// marks for the older ones (Bedrock, "Prompt caching": Claude 3.5 Haiku, 3.7 Sonnet and later).
func CachedOnBedrock(id string) bool {
	for _, older := range []string{
		"claude-3-haiku", "claude-3-sonnet", "claude-3-opus", "claude-3-5-sonnet", "claude-v2",
		"claude-instant",
	} {
		if strings.Contains(id, older) {
			return false
		}
	}
	return true
}
