package entry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/tailscale/hujson"
)

// Put writes an entry into a file below the keys, which end with the server's name. Whatever else is in the file stays
// as it is written.
func Put(file string, keys []string, raw json.RawMessage) error {
	return edit(file, func(root *hujson.Value) error {
		for i := 1; i < len(keys); i++ {
			if root.Find(pointer(keys[:i])) == nil {
				if err := patch(root, "add", keys[:i], json.RawMessage("{}")); err != nil {
					return err
				}
			}
		}
		return patch(root, "add", keys, raw)
	})
}

// ErrNoEntry is returned for an entry that a file does not have.
var ErrNoEntry = errors.New("there is no such MCP server")

// Remove removes an entry from a file.
func Remove(file string, keys []string) error {
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return ErrNoEntry
	}
	return edit(file, func(root *hujson.Value) error {
		if root.Find(pointer(keys)) == nil {
			return ErrNoEntry
		}
		return patch(root, "remove", keys, nil)
	})
}

func pointer(keys []string) string {
	var b strings.Builder
	for _, k := range keys {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k))
	}
	return b.String()
}

func patch(root *hujson.Value, op string, keys []string, value json.RawMessage) error {
	step := map[string]any{"op": op, "path": pointer(keys)}
	if value != nil {
		step["value"] = value
	}
	text, err := json.Marshal([]any{step})
	if err != nil {
		return err
	}
	return root.Patch(text)
}

// longestEdit is how long an edit of another process may take: an instant as a rule, and for good if it was stopped.
const longestEdit = 5 * time.Second

// edit replaces a file under a lock that all of lathe share.
func edit(file string, change func(*hujson.Value) error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	lock := flock.New(file + ".lathe-lock")
	ctx, cancel := context.WithTimeoutCause(context.Background(), longestEdit,
		fmt.Errorf("another lathe has held it for %s; end it, and try again", longestEdit))
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("cannot lock %s: %w", file, cmp.Or(context.Cause(ctx), err))
	}
	defer func() { _ = errors.Join(lock.Unlock(), os.Remove(file+".lathe-lock")) }()
	data, mode := []byte("{}\n"), os.FileMode(0o600)
	if filepath.Base(file) == ".mcp.json" { // which the project shares
		mode = 0o644
	}
	if st, err := os.Stat(file); err == nil {
		mode = st.Mode().Perm()
		if data, err = readBounded(file); err != nil {
			return err
		}
	}
	root, err := hujson.Parse(slices.Clone(data))
	if err != nil {
		return fmt.Errorf("%s is no valid JSON: %w; mend it first", file, err)
	}
	if err := change(&root); err != nil {
		return err
	}
	out := root.Pack()
	if root.IsStandard() { // no comments that a new layout could move
		var b bytes.Buffer
		if err := json.Indent(&b, out, "", "  "); err != nil {
			return err
		}
		out = append(bytes.TrimSpace(b.Bytes()), '\n')
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // the link stays
	}
	next := file + ".new"
	if err := os.WriteFile(next, out, mode); err != nil {
		return err
	}
	if err := os.Rename(next, file); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}
