package keys

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/tailscale/hujson"
)

type kind int

const (
	nothing kind = iota
	null
	text
	list
	object
	other
)

// value is JSON with its order and its places kept.
type value struct {
	kind    kind
	offset  int // in the text
	text    string
	elems   []value
	members []member
}

type member struct {
	name   string
	offset int
	value  value
}

func (v value) member(name string) value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return value{}
}

// maxDepth is deeper than keybindings go.
const maxDepth = 20

// parse reads JSON with comments. Nothing but blanks is nothing.
func parse(b []byte) (value, error) {
	if len(bytes.TrimSpace(b)) == 0 || string(bytes.TrimSpace(b)) == "null" {
		return value{}, nil
	}
	std, err := hujson.Standardize(bytes.Clone(b)) // keeps every offset
	if err != nil {
		return value{}, err
	}
	d := json.NewDecoder(bytes.NewReader(std))
	v, err := decode(d, 0)
	if err != nil {
		return value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("there is more after the end")
	}
	return v, nil
}

func decode(d *json.Decoder, depth int) (value, error) {
	t, err := d.Token()
	if err != nil {
		return value{}, err
	}
	v := value{kind: other, offset: int(d.InputOffset())}
	switch t := t.(type) {
	case nil:
		v.kind = null
	case string:
		v.kind, v.text = text, t
	case json.Delim:
		if depth >= maxDepth {
			return value{}, errors.New("it is nested too deep")
		}
		err := v.fill(d, t, depth)
		return v, err
	}
	return v, nil
}

// fill reads the elements of a list or an object.
func (v *value) fill(d *json.Decoder, open json.Delim, depth int) error {
	v.kind = list
	if open == '{' {
		v.kind = object
	}
	for d.More() {
		var m member
		if v.kind == object {
			name, err := d.Token()
			if err != nil {
				return err
			}
			m.name, _ = name.(string)
			m.offset = int(d.InputOffset())
		}
		one, err := decode(d, depth+1)
		if err != nil {
			return err
		}
		m.value = one
		if v.kind == object {
			v.members = append(v.members, m)
		} else {
			v.elems = append(v.elems, one)
		}
	}
	_, err := d.Token()
	return err
}
