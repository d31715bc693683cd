package task

import (
	"encoding/json"
	"errors"
	"os"
)

// ErrBroken is returned for a file that is not JSON.
var ErrBroken = errors.New("broken")

// Load reads a file.
func Load(path string) (map[string]any, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.New("cannot load: " + err.Error())
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, errors.New("broken")
	}
	return v, nil
}
