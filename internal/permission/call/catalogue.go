package call

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Catalogue is the declarations of the tools there are. It is safe for concurrent use, and grows while a session
// runs: servers and plugins declare their tools like those that are built in.
type Catalogue struct {
	mu        sync.RWMutex
	tools     map[string]*declared // by name
	names     []string             // in the order of declaration
	spellings map[string]string    // folded spellings to names; nil until one is looked up
}

var _ permission.Tools = (*Catalogue)(nil)

// declared is one declaration and the values derived from it on first use.
type declared struct {
	Declaration
	once  sync.Once
	types map[string]string // JSON types of the parameters, from the schema
}

// NewCatalogue makes a catalogue of tools whose names and aliases are all different. Of two that have one spelling
// the first gets it; Add refuses the second.
func NewCatalogue(list ...Declaration) *Catalogue {
	c := &Catalogue{tools: make(map[string]*declared, len(list)), names: make([]string, 0, len(list))}
	for _, d := range list {
		c.put(d)
	}
	return c
}

func (c *Catalogue) put(d Declaration) {
	c.tools[d.Name] = &declared{Declaration: d}
	c.names = append(c.names, d.Name)
}

// Add declares one more tool. A name or alias that another tool has is refused: nothing may pass itself off as
// another tool.
func (c *Catalogue) Add(d Declaration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Name == "" || strings.ContainsAny(d.Name, "()* \t\n") {
		return fmt.Errorf("%q cannot be the name of a tool", d.Name)
	}
	c.spell()
	for _, s := range append([]string{d.Name}, d.Aliases...) {
		if owner, taken := c.spellings[foldSpelling(s)]; taken {
			return fmt.Errorf("the tool %s cannot be added: %q means %s already", d.Name, s, owner)
		}
	}
	c.put(d)
	c.spellAs(d.Name, d.Aliases)
	return nil
}

// spell gathers the spellings of all tools, once: a start without rules and calls needs none.
func (c *Catalogue) spell() {
	if c.spellings != nil {
		return
	}
	c.spellings = make(map[string]string, 8*len(c.names))
	for _, name := range c.names {
		c.spellAs(name, c.tools[name].Aliases)
	}
}

func (c *Catalogue) spellAs(name string, aliases []string) {
	for _, s := range append([]string{name}, aliases...) {
		if _, taken := c.spellings[foldSpelling(s)]; !taken {
			c.spellings[foldSpelling(s)] = name
		}
	}
}

// foldSpelling writes a name so that all spellings of it are one: case, underscores and hyphens do not count. In
// names of servers' tools everything counts.
func foldSpelling(name string) string {
	if strings.HasPrefix(name, "mcp__") {
		return name
	}
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// Name is the name that a spelling stands for; one that no tool has stays as it is.
func (c *Catalogue) Name(spelling string) string {
	if c.find(spelling) != nil {
		return spelling
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spell()
	for _, s := range []string{spelling, unprefixed(spelling)} {
		if name, ok := c.spellings[foldSpelling(s)]; ok {
			return name
		}
	}
	return spelling
}

// unprefixed takes off the namespace that some models put before a name.
func unprefixed(name string) string {
	for _, p := range []string{"functions.", "default_api.", "container.", "tools.", "developer__"} {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return rest
		}
	}
	return name
}

// Names lists the tools in the order of their declaration.
func (c *Catalogue) Names() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.names)
}

// Named reports whether a word is a tool's name as people write it: the name itself, or one of Claude Code's.
func (c *Catalogue) Named(word string) bool {
	d := c.find(c.Name(word))
	if d == nil {
		return false
	}
	capital := word != "" && word[0] >= 'A' && word[0] <= 'Z'
	return word == d.Name || capital && slices.Contains(d.Aliases, word)
}

// Traits are the facts that rules need about the tool with this name.
func (c *Catalogue) Traits(name string) permission.Traits {
	if d := c.find(name); d != nil {
		return d.traits()
	}
	return permission.Traits{}
}

// Lookup is the declaration of the tool with this name.
func (c *Catalogue) Lookup(name string) (Declaration, bool) {
	if d := c.find(name); d != nil {
		return d.Declaration, true
	}
	return Declaration{}, false
}

func (c *Catalogue) find(name string) *declared {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tools[name]
}

// Accesses are those of a call of a tool; nil is unknown. The error names the parameter missing from the input.
func (c *Catalogue) Accesses(tool string, input json.RawMessage, at Place) ([]permission.Access, error) {
	d := c.find(tool)
	if d == nil || d.Declaration.Accesses == nil {
		return nil, nil
	}
	accesses, err := d.Declaration.Accesses(input, at)
	d.Classify(accesses)
	return accesses, err
}

// Nearest returns the tool that a misspelled name most likely means, or "": it may be one letter off, two in a long
// name.
func (c *Catalogue) Nearest(spelling string) string {
	name := c.Name(spelling)
	if c.find(name) != nil {
		return name
	}
	limit := 1
	switch n := len(spelling); {
	case n < 3:
		return "" // LS is not LSP
	case n > 7:
		limit = 2
	}
	near, _ := fuzzy.Nearest(spelling, c.written(), limit)
	return c.Name(near)
}

// written lists the names that people may write: lathe's tool names and Claude Code's.
func (c *Catalogue) written() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := slices.Clone(c.names)
	for _, name := range c.names {
		for _, alias := range c.tools[name].Aliases {
			if alias[0] >= 'A' && alias[0] <= 'Z' {
				out = append(out, alias)
			}
		}
	}
	return out
}
