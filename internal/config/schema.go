package config

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed schema.json
var schemaJSON []byte

// Schema is the published JSON Schema of settings files (draft 2020-12).
func Schema() []byte { return slices.Clone(schemaJSON) }

// A schema is one place of schema.json, in the subset that the checker supports: type, properties,
// additionalProperties, items, enum, anyOf, required, bounds, maxItems, minLength, $ref, and the formats url,
// proxy, path, rule and text, which other tools treat as annotations. Two keywords are lathe's own: x-effect
// marks keys that nothing reads yet (the change that reads one removes it), and x-protects marks those
// that refuse something.
type schema struct {
	description string
	types       []string
	enum        []string
	props       []property
	extra       *schema // of other members than props; nil: they are unknown
	items       *schema
	anyOf       []*schema
	required    []string
	format      string
	minimum     float64
	above       float64
	minLength   int
	maxItems    int
	def         *node
	examples    *node
	idle        bool // x-effect "none yet": nothing reads the key
	protects    bool // x-protects: while it is set and not in force, bypassPermissions is refused
}

type property struct {
	name string
	load func() *schema
}

func (p property) schema() *schema { return p.load() }

func parseSchema(text []byte) *node {
	src := &source{layer: Default, data: text}
	doc, err := parseDocument(src)
	if err != nil {
		panic("config: schema.json: " + err.Error()) // embedded in the binary
	}
	root := doc.tree(func(key string, _ int) { panic("config: schema.json repeats " + key) })
	src.data = nil // defaults have no line
	return root
}

// rootSchema never changes. Its members are parsed one by one, when they are needed: a run without settings files needs
// three of sixty.
var rootSchema = sync.OnceValue(func() *schema {
	root := newSchema(object(nil))
	root.types = []string{"object"}
	for _, m := range schemaParts().properties {
		root.props = append(root.props, property{
			m.key,
			sync.OnceValue(func() *schema { return newSchema(parseSchema(m.value)) }),
		})
	}
	return root
})

func newSchema(n *node) *schema {
	s := &schema{minimum: math.Inf(-1), above: math.Inf(-1), maxItems: math.MaxInt}
	if ref := n.get("$ref"); ref != nil {
		*s = *newSchema(parseSchema(rawReference(ref.text)))
	}
	for _, m := range n.members {
		s.keyword(m.key, m.val)
	}
	return s
}

func (s *schema) keyword(key string, v *node) {
	switch key {
	case "description":
		s.description = v.text
	case "type":
		s.types = texts(v)
	case "enum":
		s.enum = texts(v)
	case "required":
		s.required = texts(v)
	case "format":
		s.format = v.text
	case "minimum":
		s.minimum = v.number()
	case "exclusiveMinimum":
		s.above = v.number()
	case "minLength":
		s.minLength = int(v.number())
	case "maxItems":
		s.maxItems = int(v.number())
	case "x-effect":
		s.idle = v.text == "none yet"
	case "x-protects":
		s.protects = v.kind == 't'
	case "default":
		s.def = v
	case "examples":
		s.examples = v
	case "items":
		s.items = newSchema(v)
	case "additionalProperties":
		s.extra = newSchema(v)
	case "properties":
		for _, m := range v.members {
			sub := newSchema(m.val)
			s.props = append(s.props, property{m.key, func() *schema { return sub }})
		}
	case "anyOf":
		for _, e := range v.elems {
			s.anyOf = append(s.anyOf, newSchema(e))
		}
	}
}

func texts(n *node) []string {
	if n.kind == '"' {
		return []string{n.text}
	}
	var out []string
	for _, e := range n.elems {
		out = append(out, e.text)
	}
	return out
}

func (n *node) number() float64 {
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// prop returns the schema of a member: its own, else the one for all others, else nil.
func (s *schema) prop(key string) *schema {
	for _, p := range s.props {
		if p.name == key {
			return p.schema()
		}
	}
	return s.extra
}

// elements returns the schema of a list's elements, nil where no list is allowed.
func (s *schema) elements() *schema {
	for _, one := range s.anyOf {
		if s.items == nil && one.items != nil {
			return one.items
		}
	}
	return s.items
}

// find returns the schema at a path, or nil.
func (s *schema) find(p keyPath) *schema {
	for _, seg := range p {
		if s == nil {
			return nil
		}
		if items := s.elements(); items != nil && (isIndex(seg) || seg == "-") {
			s = items
		} else {
			s = s.prop(seg)
		}
	}
	return s
}

// knows reports whether a path leads to a key of the schema or into a part that the schema leaves open.
func (s *schema) knows(p keyPath) bool {
	for i := range p {
		if s = s.find(p[i : i+1]); s == nil {
			return false
		}
		if s.open() && len(s.anyOf) == 0 && s.items == nil {
			return true
		}
	}
	return true
}

// open reports whether members that the schema does not name are allowed, and left to others.
func (s *schema) open() bool { return len(s.props) == 0 && s.extra == nil }

func (s *schema) names() []string {
	var out []string
	for _, p := range s.props {
		out = append(out, p.name)
	}
	return out
}

// defaultTree holds the built-in defaults; it never changes.
var defaultTree = sync.OnceValue(func() *node {
	d := rawDefaults(schemaParts().properties).clone()
	markDefault(d)
	return d
})

func markDefault(n *node) {
	n.off = -1
	for _, m := range n.members {
		markDefault(m.val)
	}
}

// allowed describes the allowed values.
func (s *schema) allowed() string {
	switch {
	case len(s.enum) > 0:
		quoted := make([]string, len(s.enum))
		for i, e := range s.enum {
			quoted[i] = strconv.Quote(e)
		}
		return strings.Join(quoted, ", ")
	case len(s.anyOf) > 0:
		alts := make([]string, len(s.anyOf))
		for i, a := range s.anyOf {
			alts[i] = a.allowed()
		}
		return strings.Join(alts, " or ")
	}
	var alts []string
	for _, t := range s.types {
		alts = append(alts, s.allowedType(t))
	}
	return strings.Join(alts, " or ")
}

func (s *schema) allowedType(t string) string {
	switch t {
	case "string":
		return s.allowedString()
	case "integer", "number":
		word := map[string]string{"integer": "a whole number", "number": "a number"}[t]
		if !math.IsInf(s.minimum, 0) {
			return fmt.Sprintf("%s, at least %v", word, s.minimum)
		}
		if !math.IsInf(s.above, 0) {
			return fmt.Sprintf("%s above %v", word, s.above)
		}
		return word
	case "boolean":
		return "true or false"
	case "array":
		word := "an array"
		if s.maxItems < math.MaxInt {
			word += fmt.Sprintf(" of at most %d", s.maxItems)
		}
		if s.items != nil {
			word += ", each " + s.items.allowed()
		}
		return word
	}
	return "an object"
}

func (s *schema) allowedString() string {
	switch s.format {
	case "url":
		return "a URL that begins with http:// or https://"
	case "proxy":
		return "host:port, a URL that begins with http://, https:// or socks5://, or none"
	case "path":
		return "a path"
	case "rule":
		return "a rule: Tool or Tool(pattern)"
	}
	if s.minLength > 0 {
		return "a string that is not empty"
	}
	return "a string"
}
