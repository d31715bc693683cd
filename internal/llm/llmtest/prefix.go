package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// SamePrefix returns an error if the body of a request does not begin like an earlier one of the same
// conversation: all settings, the tools, the system prompt and every earlier message must recur byte for
// byte, except for cache marks, which move.
func SamePrefix(earlier, later []byte) error {
	var a, b map[string]json.RawMessage
	if err := json.Unmarshal(earlier, &a); err != nil {
		return fmt.Errorf("earlier request: %w", err)
	}
	if err := json.Unmarshal(later, &b); err != nil {
		return fmt.Errorf("later request: %w", err)
	}
	list := "messages"
	for _, name := range []string{"input", "contents"} {
		if a[name] != nil {
			list = name
		}
	}
	for name := range b {
		if a[name] == nil {
			return fmt.Errorf("%s is new", name)
		}
	}
	for name, value := range a {
		if name != list && !bytes.Equal(unmarked(value), unmarked(b[name])) {
			return fmt.Errorf("%s changed from %s to %s", name, clip(string(value), 300), clip(string(b[name]), 300))
		}
	}
	var before, after []json.RawMessage
	if err := json.Unmarshal(a[list], &before); err != nil {
		return fmt.Errorf("earlier %s: %w", list, err)
	}
	if err := json.Unmarshal(b[list], &after); err != nil {
		return fmt.Errorf("later %s: %w", list, err)
	}
	if len(after) < len(before) {
		return fmt.Errorf("there are %d %s after %d", len(after), list, len(before))
	}
	for i := range before {
		if !bytes.Equal(unmarked(before[i]), unmarked(after[i])) {
			return fmt.Errorf("%s[%d] changed from %s to %s", list, i, clip(string(before[i]), 500), clip(string(after[i]), 500))
		}
	}
	return nil
}

// unmarked returns a JSON text without its cache marks, which are small flat objects.
func unmarked(b []byte) []byte {
	b = slices.Clone(b)
	// Bedrock's
	for _, point := range []string{`{"cachePoint":{"type":"default"}}`, `{"cachePoint":{"type":"default","ttl":"1h"}}`} {
		b = bytes.ReplaceAll(bytes.ReplaceAll(b, []byte(","+point), nil), []byte(point), nil)
	}
	mark := []byte(`"cache_control":{`)
	for {
		i := bytes.Index(b, mark)
		if i < 0 {
			return b
		}
		end := bytes.IndexByte(b[i:], '}')
		if end < 0 {
			return b
		}
		j := i + end + 1
		switch {
		case i > 0 && b[i-1] == ',':
			i--
		case j < len(b) && b[j] == ',':
			j++
		}
		b = slices.Delete(b, i, j)
	}
}
