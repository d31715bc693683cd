#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// ErrBroken is returned for a file that is not JSON.
var ErrBroken = errors.New("broken")

// Load reads a file.
func Load(path string) (map[string]any, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot load: %w", err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%s: %w: %v", path, ErrBroken, err)
	}
	return v, nil
}
END
