package agent

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/llm"
)

// ToolSet is the tools that there are at one moment.
//
// The list of specs that a model is sent only ever grows at its end: a tool that is new in Tools is added to
// it, one that is gone from both lists keeps its spec there and calls to it are answered with an error, and
// one whose spec changed is sent as it was first. After a compaction or checkout the list begins anew with
// the present tools, since the request is new from its start anyway. A deferred tool is not sent. A call to it by its
// name runs like any other; an input that does not fit is answered with its schema, as for every tool. Loading a
// deferred tool is to move it to Tools and to change Version.
type ToolSet struct {
	Version  uint64 // another one when anything below is another
	Tools    []Tool // whose specs are sent, in this order
	Deferred []Tool // that can be called
}

// toolbox is a ToolSet ready for use. It does not change.
type toolbox struct {
	set      ToolSet
	revision int // of the transcript when the list of specs began
	byName   map[string]*boundTool
	names    []string       // of the tools that can be called, in order
	specs    []llm.ToolSpec // as they are sent
	sent     map[string]bool
	deferred []llm.ToolSpec
	frozen   []llm.ToolSpec // the deferred tools when the list of specs began
	native   []llm.ToolSpec // specs, and frozen as deferred ones
}

// boundTool is a tool with its schema, which is compiled when it is first needed.
type boundTool struct {
	Tool
	spec llm.ToolSpec

	once   sync.Once
	schema *jsonschema.Resolved // nil: the schema cannot be compiled, so inputs are not checked against it
}

// refresh asks for the tools and applies changes. While nothing changes it costs one comparison.
func (a *Agent) refresh(ctx context.Context) (*toolbox, error) {
	set, err := guarded("the list of tools", func() (ToolSet, error) { return a.cfg.Tools(ctx) })
	if err != nil {
		return nil, fmt.Errorf("the tools cannot be listed: %w", err)
	}
	a.setup.Lock()
	defer a.setup.Unlock()
	old := a.tools.Load()
	if old != nil && old.set.Version == set.Version {
		return old, nil
	}
	if old == nil {
		old = &toolbox{revision: a.cfg.Transcript.Revision()}
	}
	next := old.grow(set).freeze(old)
	a.tools.Store(next)
	return next, nil
}

// renew begins the list of specs anew when the conversation was compacted or checked out since it began.
func (a *Agent) renew() {
	a.setup.Lock()
	defer a.setup.Unlock()
	old, now := a.tools.Load(), a.cfg.Transcript.Revision()
	if old.revision != now {
		a.tools.Store((&toolbox{revision: now, byName: old.byName}).grow(old.set).freeze(&toolbox{}))
	}
}

// grow is the toolbox for another set of tools.
func (b *toolbox) grow(set ToolSet) *toolbox {
	next := &toolbox{
		set: set, revision: b.revision, byName: make(map[string]*boundTool, len(set.Tools)+len(set.Deferred)),
		specs: b.specs[:len(b.specs):len(b.specs)], sent: make(map[string]bool, len(b.sent)),
	}
	for name := range b.sent {
		next.sent[name] = true
	}
	for _, t := range set.Tools {
		if spec := next.bind(t, b); !next.sent[spec.Name] {
			next.sent[spec.Name] = true
			next.specs = append(next.specs, spec)
		}
	}
	for _, t := range set.Deferred {
		if _, ok := next.byName[t.Spec().Name]; !ok {
			next.deferred = append(next.deferred, next.bind(t, b))
		}
	}
	return next
}

// freeze makes the list for models that take deferred tools. It has those of the beginning: tools once sent do not
// change, and a tool that arrives later is described in the result of the search.
func (b *toolbox) freeze(before *toolbox) *toolbox {
	b.frozen = before.frozen
	if before.set.Version == 0 {
		b.frozen = b.deferred
	}
	b.native = slices.Clone(b.specs)
	for _, s := range b.frozen {
		if !b.sent[s.Name] && !s.Unlisted {
			s.Deferred = true
			b.native = append(b.native, s)
		}
	}
	return b
}

// list is the list for a model.
func (b *toolbox) list(info llm.ModelInfo) []llm.ToolSpec {
	if info.DeferredTools {
		return b.native
	}
	return b.specs
}

// bind makes a tool one that can be called. A schema that was compiled before is kept.
func (b *toolbox) bind(t Tool, before *toolbox) llm.ToolSpec {
	spec := t.Spec()
	bound := before.byName[spec.Name]
	if bound == nil || !sameTool(bound.Tool, t) || !bytes.Equal(bound.spec.Schema, spec.Schema) {
		bound = &boundTool{Tool: t, spec: spec}
	}
	if _, ok := b.byName[spec.Name]; !ok {
		b.names = append(b.names, spec.Name)
	}
	b.byName[spec.Name] = bound
	return spec
}

// sameTool reports whether two tools are one; those that cannot be compared are not.
func sameTool(a, b Tool) (same bool) {
	defer func() { _ = recover() }() // a type that == cannot compare
	return a == b
}
