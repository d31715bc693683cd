package tool

import (
	"bytes"
	"context"
	"errors"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// Reformat replaces the content of a file that the model has changed by the result of format, and returns the
// difference as a unified diff, "" if there is none. A file that is not as the model left it stays as it is.
func (e *Files) Reformat(ctx context.Context, path string, format func(before []byte) ([]byte, error)) (string, error) {
	c, err := e.change("format", path)
	if err != nil {
		return "", err
	}
	defer c.close()
	if c.info == nil {
		return "", nil
	}
	if err := e.knows(c, false); err != nil {
		return "", nil //nolint:nilerr // somebody else is at work on it
	}
	if c.after, err = format(c.before); err != nil {
		return "", err
	}
	if len(c.after) == 0 || bytes.Equal(c.after, c.before) {
		return "", nil
	}
	if err := c.settle(); err != nil {
		return "", err
	}
	if len(c.before)+len(c.after) > diffMax {
		return "", errors.New("it is too large to show what would change")
	}
	c.diff, c.hunks = diffTexts(c.path.Lexical, files.Decode(c.before).View, files.Decode(c.after).View)
	if _, err := c.apply(ctx); err != nil {
		return "", err
	}
	return c.diff.Unified, nil
}
