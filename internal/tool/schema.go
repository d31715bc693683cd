package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// schemaOf makes the JSON Schema of a tool's input from its type, when it is first asked for. The tag jsonschema has
// the description of a field, and limits other keywords ("minimum=1", "enum=a|b"); a field with omitempty may be left
// out. It writes the few forms that inputs have: a library took a millisecond of each start for them.
func schemaOf[In any]() func() json.RawMessage {
	return sync.OnceValue(func() json.RawMessage {
		var b strings.Builder
		writeSchema(&b, reflect.TypeFor[In](), "")
		return json.RawMessage(b.String())
	})
}

func writeSchema(b *strings.Builder, t reflect.Type, tag reflect.StructTag) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Slice: "array", reflect.Struct: "object",
	}[t.Kind()]
	raw := t == reflect.TypeFor[json.RawMessage]()
	if raw {
		kind = "object"
	}
	fmt.Fprintf(b, `{"type":%q`, kind)
	for one := range strings.FieldsSeq(tag.Get("limits")) {
		keyword, value, _ := strings.Cut(one, "=")
		if keyword == "enum" {
			value = `["` + strings.ReplaceAll(value, "|", `","`) + `"]`
		}
		fmt.Fprintf(b, ",%q:%s", keyword, value)
	}
	if text := tag.Get("jsonschema"); text != "" {
		b.WriteString(`,"description":` + strconv.Quote(text))
	}
	switch {
	case kind == "array":
		b.WriteString(`,"items":`)
		writeSchema(b, t.Elem(), "")
	case kind == "object" && !raw:
		writeFields(b, t)
	}
	b.WriteByte('}')
}

func writeFields(b *strings.Builder, t reflect.Type) {
	var required []string
	sep := `,"properties":{`
	for f := range t.Fields() {
		name, more, _ := strings.Cut(f.Tag.Get("json"), ",")
		b.WriteString(sep + strconv.Quote(name) + ":")
		writeSchema(b, f.Type, f.Tag)
		if sep = ","; more == "" {
			required = append(required, strconv.Quote(name))
		}
	}
	b.WriteString("}")
	if len(required) > 0 {
		b.WriteString(`,"required":[` + strings.Join(required, ",") + "]")
	}
}
