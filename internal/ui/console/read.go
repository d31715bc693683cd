package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/face/port"
)

// mostRead is how many bytes of a blob or a file one request returns; base64 makes a third more of them.
const mostRead = port.MaxMessage / 2

// Read returns a part of what the session keeps; see [port.Session].
func (c *Console) Read(_ context.Context, r port.ReadRequest) (out port.Content, err error) {
	s := c.session()
	switch r.What {
	case "history":
		out.History, err = c.history(r.Before, r.Limit)
	case "questions":
		now := c.State()
		out.Questions, out.State = c.bus.Questions(), &now
	case "status":
		now, doing := c.Status(), c.State()
		out.Status, out.State = &now, &doing
	case "settings":
		out.Bytes = c.inst.Config().JSON()
	case "blob":
		out.Bytes, err = readWithin([]string{s.Log().Blobs()}, r.Name, r.Limit)
	case "file":
		out.Bytes, err = readWithin(append([]string{s.Dir()}, s.Dirs()...), r.Name, r.Limit)
	default:
		err = fmt.Errorf("there is no %q to read: give history, questions, status, settings, blob or file", r.What)
	}
	return out, err
}

// readWithin reads a file of one of some folders, by its path from there. A link that leads out of them is refused.
func readWithin(dirs []string, name string, limit int) ([]byte, error) {
	if limit <= 0 || limit > mostRead {
		limit = mostRead
	}
	var first error
	for _, dir := range dirs {
		b, err := readBelow(dir, name, limit)
		if err == nil {
			return b, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func readBelow(dir, name string, limit int) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if st, err := root.Stat(name); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", filepath.Join(dir, name))
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}
