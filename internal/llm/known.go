package llm

// Known lists what the catalogue has of a provider's own API ("anthropic", "openai"), or of a compatible
// host's as CatalogueHost names it, in the catalogue's order.
func Known(provider string) []ModelInfo {
	c := catalogue()
	var out []ModelInfo
	for _, r := range c.rows {
		if r.host != provider {
			continue
		}
		out = append(out, Lookup(provider, r.info.ID))
	}
	return out
}
