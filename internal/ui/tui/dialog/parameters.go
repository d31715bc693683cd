package dialog

import (
	"bytes"
	"encoding/json"
	"strings"
)

// parameters are the members of an object in their order, each with its value in words: a text as it is, anything else
// as JSON. False: it is no object.
func parameters(input json.RawMessage) (rows [][2]string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(input))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		text := string(value)
		if s := ""; json.Unmarshal(value, &s) == nil {
			text = s
		}
		rows = append(rows, [2]string{strings.ReplaceAll(name.(string), "_", " "), text})
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	return rows, true
}
