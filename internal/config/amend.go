package config

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
)

// amendments are the settings of Amend, shared by a configuration and those that are loaded after it.
type amendments struct {
	mu   sync.Mutex
	keys map[string]json.RawMessage
}

// get is the amendments as one JSON object; "" when there are none.
func (a *amendments) get() string {
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.keys) == 0 {
		return ""
	}
	text, _ := json.Marshal(a.keys) // decoded values can be encoded
	return string(text)
}

// set replaces keys, null taking one away, and returns how to take that back.
func (a *amendments) set(more map[string]json.RawMessage) (undo func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.keys
	next := maps.Clone(old)
	if next == nil {
		next = map[string]json.RawMessage{}
	}
	maps.Copy(next, more)
	maps.DeleteFunc(next, func(_ string, v json.RawMessage) bool { return strings.TrimSpace(string(v)) == "null" })
	a.keys = next
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.keys = old
	}
}

// Amend loads the same places again with more settings on top of those of --settings: a JSON object whose keys
// replace those of earlier calls, null taking one away. They also count for later reloads. Like Reload it
// returns the differences; after an error, including check's, nothing has changed.
func (c *Config) Amend(settings json.RawMessage, check func(*Config) error) (*Config, []Change, error) {
	var more map[string]json.RawMessage
	if err := json.Unmarshal(settings, &more); err != nil || more == nil {
		return nil, nil, errors.Join(errors.New("the settings are not a JSON object"), err)
	}
	undo := c.opts.amended.set(more)
	next, changes, err := c.Reload()
	if err == nil {
		err = check(next)
	}
	if err != nil {
		undo()
	}
	return next, changes, err
}
