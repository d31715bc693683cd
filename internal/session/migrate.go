package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Kinds of lines that are no entries.
const (
	kindHeader = "header" // the first line
	kindFormat = "format" // what follows is of this format; written when an older log is continued
)

// migrations holds, at index v, what turns the members of a line of format v into those of v+1. A log on
// disk is never rewritten: lines are migrated each time they are read.
var migrations = []func(kind string, members map[string]json.RawMessage) error{
	0: renameMessage,
}

// renameMessage: format 0 called the message of a user entry "msg".
func renameMessage(kind string, m map[string]json.RawMessage) error {
	if kind != "user" {
		return nil
	}
	msg, ok := m["msg"]
	if !ok {
		return fmt.Errorf("a user entry without msg")
	}
	m["message"] = msg
	delete(m, "msg")
	return nil
}

// migrate returns a line in the current format. It has no checksum.
func migrate(line []byte, version int) ([]byte, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	delete(members, "crc")
	var kind string
	if err := json.Unmarshal(members["kind"], &kind); err != nil {
		return nil, errNoID
	}
	for v := max(version, 0); v < Format; v++ {
		if err := migrations[v](kind, members); err != nil {
			return nil, fmt.Errorf("format %d: %w", v, err)
		}
	}
	return joinMembers(members), nil
}

// joinMembers writes the envelope first, as lathe does, then the rest sorted.
func joinMembers(members map[string]json.RawMessage) []byte {
	out := []byte{'{'}
	add := func(key string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(appendString(out, key), ':')
		out = append(out, value...)
	}
	for _, key := range []string{"id", "parent", "time", "kind"} {
		value, ok := members[key]
		if !ok {
			value = []byte(`""`)
		}
		add(key, value)
		delete(members, key)
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		add(key, bytes.TrimSpace(members[key]))
	}
	return append(out, '}')
}
