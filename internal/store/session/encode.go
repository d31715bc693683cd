package session

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Raw JSON is written without the escapes for HTML that encoding/json puts into it: they would make the input of a
// call differ between the process that received it and the one that resumed it.

const timeForm = "2006-01-02T15:04:05.000Z"

// appendMarshal writes a value of ours, which always has a JSON form.
func appendMarshal(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// appendEntry writes the line of an entry up to its checksum, without the closing brace.
func appendEntry(dst []byte, e Entry) ([]byte, error) {
	dst = llm.AppendQuoted(append(dst, `{"id":`...), e.ID)
	dst = llm.AppendQuoted(append(dst, `,"parent":`...), e.Parent)
	dst = e.Time.UTC().AppendFormat(append(dst, `,"time":"`...), timeForm)
	dst = llm.AppendQuoted(append(dst, `","kind":`...), e.Body.Kind())
	switch b := e.Body.(type) {
	case Unknown:
		if b.JSON == nil {
			return dst, nil
		}
		body, err := appendMarshal(nil, b.JSON)
		return appendMembers(dst, body, err)
	case json.Marshaler: // encoding/json would read through again what it returns
		body, err := b.MarshalJSON()
		return appendMembers(dst, body, err)
	}
	body, err := appendMarshal(nil, e.Body)
	return appendMembers(dst, body, err)
}

// appendMembers writes the members of an object, if there was no error in making it.
func appendMembers(dst, object []byte, err error) ([]byte, error) {
	switch {
	case err != nil:
		return dst, err
	case len(object) < 2 || object[0] != '{':
		return dst, errNoObject
	case len(object) == 2:
		return dst, nil
	}
	return append(append(dst, ','), object[1:len(object)-1]...), nil
}

// rawJSON returns raw JSON; other text becomes a string, so that nothing is lost.
func rawJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || utf8.Valid(raw) && json.Valid(raw) {
		return raw
	}
	return llm.AppendQuoted(nil, string(raw))
}
