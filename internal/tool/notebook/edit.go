package notebook

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Change is one change of a notebook.
type Change struct {
	Mode   string // replace, insert or delete
	Cell   string // the id; for insert, of the cell before, "" for the beginning
	Type   string // code or markdown; "" keeps the type, or is code for a new cell
	Source string
}

// span is a cell in the bytes of a notebook.
type span struct {
	start, end int
	cell       Cell
}

// Edit returns a notebook with one cell changed, and the index of that cell. The outputs of a changed code cell are
// removed: they belong to its old source.
func Edit(data []byte, c Change) (out []byte, at int, err error) {
	cells, open, err := spans(data)
	if err != nil {
		return nil, 0, err
	}
	at = -1
	if c.Cell != "" {
		if at = find(cells, c.Cell); at < 0 {
			return nil, 0, fmt.Errorf("there is no cell %q; the cells are %s", c.Cell, names(cells))
		}
	} else if c.Mode != "insert" {
		return nil, 0, fmt.Errorf("cell_id is missing; the cells are %s", names(cells))
	}
	switch c.Mode {
	case "insert":
		out, err = insert(data, cells, open, at, c)
		return out, at + 1, err
	case "delete":
		return remove(data, cells, at), at, nil
	}
	cell, err := changed(data[cells[at].start:cells[at].end], c, indentAt(data, cells[at].start))
	if err != nil {
		return nil, 0, err
	}
	return slices.Concat(data[:cells[at].start], cell, data[cells[at].end:]), at, nil
}

// spans finds the cells, and the place behind the bracket that opens their list.
func spans(data []byte) (cells []span, open int, err error) {
	if !json.Valid(data) {
		var v any
		return nil, 0, fmt.Errorf("the notebook is no valid JSON: %w; repair it with Edit first", json.Unmarshal(data, &v))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := toCells(d); err != nil {
		return nil, 0, err
	}
	open = int(d.InputOffset())
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, 0, err
		}
		end := int(d.InputOffset())
		s := span{start: end - len(raw), end: end}
		if err := json.Unmarshal(raw, &s.cell); err != nil {
			return nil, 0, fmt.Errorf("cell %d: %w", len(cells), err)
		}
		s.cell.Outputs = nil
		cells = append(cells, s)
	}
	return cells, open, nil
}

func find(cells []span, name string) int {
	for i := range cells {
		if cells[i].cell.Name(i) == name {
			return i
		}
	}
	for i := range cells { // an index, as results without ids name cells
		if fmt.Sprintf("cell-%d", i) == name || fmt.Sprint(i) == name {
			return i
		}
	}
	return -1
}

func names(cells []span) string {
	var out []string
	for i := range cells {
		if i == 20 {
			out = append(out, "...")
			break
		}
		out = append(out, cells[i].cell.Name(i))
	}
	if len(out) == 0 {
		return "none: the notebook is empty"
	}
	return strings.Join(out, ", ")
}

// remove takes a cell out, with the comma and blanks that belonged to it.
func remove(data []byte, cells []span, at int) []byte {
	switch {
	case at+1 < len(cells):
		return slices.Concat(data[:cells[at].start], data[cells[at+1].start:])
	case at > 0:
		return slices.Concat(data[:cells[at-1].end], data[cells[at].end:])
	}
	return slices.Concat(data[:cells[at].start], data[cells[at].end:])
}

func insert(data []byte, cells []span, open, after int, c Change) ([]byte, error) {
	indent := " "
	lead := "\n  "
	if len(cells) > 0 {
		indent = indentAt(data, cells[0].start)
		lead = lineLead(data, cells[0].start)
	}
	cell, err := fresh(c, data, indent)
	if err != nil {
		return nil, err
	}
	switch {
	case len(cells) == 0:
		return slices.Concat(data[:open], []byte(lead), cell, data[open:]), nil
	case after < 0:
		at := cells[0].start
		return slices.Concat(data[:at], cell, []byte(","+lead), data[at:]), nil
	}
	at := cells[after].end
	return slices.Concat(data[:at], []byte(","+lead), cell, data[at:]), nil
}

// lineLead is the line end and the blanks before a place, "" where the notebook is written on one line.
func lineLead(data []byte, at int) string {
	i := at
	for i > 0 && (data[i-1] == ' ' || data[i-1] == '\t') {
		i--
	}
	if i > 0 && data[i-1] == '\n' {
		return string(data[i-1 : at])
	}
	return ""
}

// indentAt is the blanks with which one level of the notebook is indented: cells are at the second level.
func indentAt(data []byte, at int) string {
	lead := strings.TrimPrefix(lineLead(data, at), "\n")
	return lead[:len(lead)/2]
}

// field is a key of an object with its value as written.
type field struct {
	key   string
	value json.RawMessage
}

// changed is a cell with another source and type; its other fields stay, in their order.
func changed(raw []byte, c Change, indent string) ([]byte, error) {
	fields, err := fieldsOf(raw)
	if err != nil {
		return nil, err
	}
	kind := c.Type
	i := slices.IndexFunc(fields, func(f field) bool { return f.key == "cell_type" })
	if kind == "" && i >= 0 {
		_ = json.Unmarshal(fields[i].value, &kind)
	}
	fields = set(fields, "cell_type", kind)
	fields = set(fields, "source", sourceLines(c.Source))
	if kind == "code" {
		fields = set(set(fields, "execution_count", nil), "outputs", []any{})
	} else {
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.key == "outputs" || f.key == "execution_count" })
	}
	return write(fields, indent)
}

// fresh is a new cell. It gets an id where the notebook's format has them (nbformat 4.5).
func fresh(c Change, data []byte, indent string) ([]byte, error) {
	kind := c.Type
	if kind == "" {
		kind = "code"
	}
	fields := set(nil, "cell_type", kind)
	if kind == "code" {
		fields = set(fields, "execution_count", nil)
	}
	var v struct {
		Major int `json:"nbformat"`
		Minor int `json:"nbformat_minor"`
	}
	_ = json.Unmarshal(data, &v)
	if v.Major > 4 || v.Major == 4 && v.Minor >= 5 {
		var id [4]byte
		_, _ = rand.Read(id[:])
		fields = set(fields, "id", hex.EncodeToString(id[:]))
	}
	fields = set(fields, "metadata", map[string]any{})
	if kind == "code" {
		fields = set(fields, "outputs", []any{})
	}
	return write(set(fields, "source", sourceLines(c.Source)), indent)
}

func fieldsOf(raw []byte) ([]field, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var out []field
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := field{key: fmt.Sprint(key)}
		if err := d.Decode(&f.value); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func set(fields []field, key string, value any) []field {
	raw := encoded(value)
	for i := range fields {
		if fields[i].key == key {
			fields[i].value = raw
			return fields
		}
	}
	return append(fields, field{key, raw})
}

// encoded writes a value without escaping <, > and &, as Jupyter does.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings, lists and maps of them have no error
	return bytes.TrimSpace(b.Bytes())
}

// sourceLines is a source as notebooks have it: a list of lines with their ends.
func sourceLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// write writes a cell the way the notebook is indented.
func write(fields []field, indent string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encoded(f.key))
		b.WriteByte(':')
		b.Write(f.value)
	}
	b.WriteByte('}')
	if indent == "" {
		return b.Bytes(), nil
	}
	var out bytes.Buffer
	err := json.Indent(&out, b.Bytes(), indent+indent, indent)
	return out.Bytes(), err
}
