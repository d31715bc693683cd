// Package notebook reads and changes Jupyter notebooks (nbformat 3 has no cells at the top and is refused; 4 is read).
//
// The words: a cell has a type (code, markdown, raw), a source and, for code, outputs. Its id is the one in the file
// or, where the file has none, cell-N by its index from 0.
//
// Promises: [Read] holds one cell at a time, so that a notebook of 100 MB of pictures costs the memory of its largest
// cell; [Edit] changes the bytes of one cell and leaves all others as they are, byte for byte.
package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Text is a string that notebooks write as one or as a list of lines.
type Text string

// UnmarshalJSON reads both forms.
func (t *Text) UnmarshalJSON(b []byte) error {
	var lines []string
	if err := json.Unmarshal(b, &lines); err == nil {
		*t = Text(strings.Join(lines, ""))
		return nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = Text(s)
	return err
}

// Output is one output of a code cell.
type Output struct {
	Type      string                     `json:"output_type"`
	Text      Text                       `json:"text"` // of a stream
	Data      map[string]json.RawMessage `json:"data"` // by MIME type
	Name      string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// Cell is one cell.
type Cell struct {
	ID      string   `json:"id"`
	Type    string   `json:"cell_type"`
	Source  Text     `json:"source"`
	Outputs []Output `json:"outputs"`
}

// ErrNotNotebook is returned for JSON without a list of cells.
var ErrNotNotebook = errors.New("it has no list of cells, so it is no notebook of nbformat 4")

// Name is the id of cell i, counted from 0.
func (c *Cell) Name(i int) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("cell-%d", i)
}

// Read calls f with each cell and its index from 0, and returns how many there are.
func Read(r io.Reader, f func(i int, c *Cell) error) (int, error) {
	d := json.NewDecoder(r)
	if err := toCells(d); err != nil {
		return 0, err
	}
	n := 0
	for ; d.More(); n++ {
		c := &Cell{}
		if err := d.Decode(c); err != nil {
			return n, fmt.Errorf("cell %d: %w", n, err)
		}
		if err := f(n, c); err != nil {
			return n, err
		}
	}
	_, err := d.Token()
	return n, err
}

// toCells goes into the list at the key "cells" of the top object.
func toCells(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(ErrNotNotebook, err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key == "cells" {
			if t, err := d.Token(); err != nil || t != json.Delim('[') {
				return errors.Join(ErrNotNotebook, err)
			}
			return nil
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
	}
	return ErrNotNotebook
}
