package provider

import (
	"fmt"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Embedder returns the provider of an embedding model, and the model's information, whose ID is the provider's name for
// it. It sends nothing.
func (all *Set) Embedder(id string) (llm.Embedder, llm.ModelInfo, error) {
	name, model, err := all.Choose(id)
	if err != nil {
		return nil, llm.ModelInfo{}, err
	}
	set := all.Provider(name)
	p, err := all.connect(name, set)
	if err != nil {
		return nil, llm.ModelInfo{}, err
	}
	e, ok := p.(llm.Embedder)
	if !ok {
		return nil, llm.ModelInfo{}, fmt.Errorf("the provider %s has no embeddings that lathe can use; name a model of "+
			"one with OpenAI's API, as in openai/text-embedding-3-small", name)
	}
	if r := all.replaying(); r != nil {
		e = r
	}
	info := llm.Lookup(llm.CatalogueHost(baseOf(name, set)), model)
	info.ID = model
	return e, info, nil
}
