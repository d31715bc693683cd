package server

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/base/openschema"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

// schemas makes the schemas of the document: named types of the API are components.
type schemas struct {
	opts  *jsonschema.ForOptions
	names map[reflect.Type]string
	all   map[string]*jsonschema.Schema
}

// components are types that others refer to, or that a stream brings.
var components = []any{
	event.Answer{},
	event.Question{},
	event.Event{},
	event.State{},
	event.Status{},
	Session{},
	Device{},
	Problem{},
	Hello{},
}

func newSchemas() (*schemas, error) {
	x := &schemas{
		opts:  &jsonschema.ForOptions{TypeSchemas: port.WrittenSchemas()},
		names: map[reflect.Type]string{}, all: map[string]*jsonschema.Schema{},
	}
	x.opts.TypeSchemas[reflect.TypeFor[[]byte]()] = &jsonschema.Schema{Type: "string", Format: "byte"}
	x.opts.TypeSchemas[reflect.TypeFor[event.Event]()].Description = "body is that of Event_KIND, with _ for a point; a " +
		"kind that is not there is to be ignored"
	for t, s := range x.opts.TypeSchemas {
		if repoint(s); s.Type == "object" {
			x.names[t], x.all[t.Name()] = t.Name(), s
			x.opts.TypeSchemas[t] = &jsonschema.Schema{Ref: "#/components/schemas/" + t.Name()}
			plain(s)
		}
	}
	for _, v := range components {
		if _, err := x.of(reflect.TypeOf(v)); err != nil {
			return nil, err
		}
	}
	for _, b := range event.Bodies() {
		if err := x.define("Event_"+strings.ReplaceAll(b.Kind(), ".", "_"), reflect.TypeOf(b)); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// repoint has the references of the port's schema point to components.
func repoint(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s.Ref = "#/components/schemas/" + name
	}
	repoint(s.Items)
	for _, p := range s.Properties {
		repoint(p)
	}
}

// of returns a reference to the component of a type, which is made if need be.
func (x *schemas) of(t reflect.Type) (*jsonschema.Schema, error) {
	name, ok := x.names[t]
	if !ok {
		if name = upper(t.Name()); x.all[name] != nil {
			name = upper(path.Base(t.PkgPath())) + name // another package has one of that name
		}
		x.names[t] = name
		if err := x.define(name, t); err != nil {
			return nil, err
		}
	}
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}, nil
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func (x *schemas) define(name string, t reflect.Type) error {
	if err := x.inner(t); err != nil {
		return err
	}
	s, err := jsonschema.ForType(t, x.opts)
	if err != nil {
		return fmt.Errorf("the schema of %s: %w", name, err)
	}
	plain(s)
	x.all[name] = s
	return nil
}

// inner makes components of the types within a type.
func (x *schemas) inner(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return x.part(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			part := x.part
			if f.Anonymous {
				part = x.inner
			}
			if f.IsExported() || f.Anonymous {
				if err := part(f.Type); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// part makes a component of a type of ours, or of what it consists of.
func (x *schemas) part(t reflect.Type) error {
	if x.opts.TypeSchemas[t] != nil {
		return nil
	}
	if t.Kind() != reflect.Struct || !strings.Contains(t.PkgPath(), "/lathe/") {
		return x.inner(t)
	}
	ref, err := x.of(t)
	if err == nil {
		x.opts.TypeSchemas[t] = ref
	}
	return err
}

// plain takes "or null" out of a schema: lists that are sent are never null.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if reflect.DeepEqual(*s, jsonschema.Schema{}) {
		s.Description = "any JSON"
	}
	if len(s.Types) > 0 {
		s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
		if len(s.Types) == 1 {
			s.Type = s.Types[0]
		}
		if len(s.Types) < 2 {
			s.Types = nil
		}
	}
	for _, p := range s.Properties {
		plain(p)
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
	openschema.Open(s)
}

// OpenAPI is the API as an OpenAPI 3.1 document.
func OpenAPI(version string) ([]byte, error) {
	x, err := newSchemas()
	if err != nil {
		return nil, err
	}
	paths := map[string]map[string]any{}
	for _, o := range operations() {
		entry, err := x.operation(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.id, err)
		}
		if paths[o.path] == nil {
			paths[o.path] = map[string]any{}
		}
		paths[o.path][strings.ToLower(o.method)] = entry
	}
	return json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "lathe", "version": version, "description": "The sessions of a user. Fields are only added; unknown ones " +
				"are to be ignored. docs/server.md has the rules.",
		},
		"security": []any{map[string]any{"token": []string{}}},
		"paths":    paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
			"schemas":         x.all,
		},
	}, "", " ")
}

// operation documents one.
func (x *schemas) operation(o operation) (map[string]any, error) {
	out := map[string]any{"operationId": o.id, "summary": o.says}
	if o.scope != "" {
		out["description"] = "Needs the scope " + string(o.scope) + "."
	}
	if params := parameters(o.in); len(params) > 0 {
		out["parameters"] = params
	}
	if o.hasBody() && o.takesJSON() {
		ref, err := x.of(o.in)
		if err != nil {
			return nil, err
		}
		out["requestBody"] = map[string]any{"required": true, "content": content("application/json", ref)}
	}
	ok := map[string]any{"description": "done"}
	status := 200
	switch {
	case o.mime != "":
		ok["content"] = content(o.mime, &jsonschema.Schema{Type: "string"})
	case o.out == typeOf[none]():
		status = 204
	default:
		ref, err := x.of(o.out)
		if err != nil {
			return nil, err
		}
		if ok["content"] = content("application/json", ref); o.made != 0 {
			status = o.made
		}
	}
	problem, err := x.of(typeOf[Problem]())
	out["responses"] = map[string]any{
		strconv.Itoa(status): ok,
		"default":            map[string]any{"description": "an error", "content": content("application/problem+json", problem)},
	}
	if o.id == "pair" {
		out["security"] = []any{}
	}
	return out, err
}

// takesJSON reports whether an operation has fields in its body.
func (o operation) takesJSON() bool {
	for f := range o.in.Fields() {
		if !f.Anonymous && f.Tag.Get("json") != "-" {
			return true
		}
	}
	return false
}

func content(mime string, s *jsonschema.Schema) map[string]any {
	return map[string]any{mime: map[string]any{"schema": s}}
}

// parameters are those of the path and the query.
func parameters(in reflect.Type) (out []any) {
	for f := range in.Fields() {
		if f.Anonymous {
			out = append(out, parameters(f.Type)...)
			continue
		}
		for _, where := range []string{"path", "query"} {
			name := f.Tag.Get(where)
			if name == "" {
				continue
			}
			out = append(out, map[string]any{
				"name": name, "in": where, "required": where == "path", "description": f.Tag.Get("doc"),
				"schema": parameterSchema(f.Type),
			})
		}
	}
	return out
}

func parameterSchema(t reflect.Type) *jsonschema.Schema {
	switch t.Kind() {
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
	}
	return &jsonschema.Schema{Type: "string"}
}
