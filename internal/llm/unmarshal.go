package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
)

// Unmarshal reads a value as encoding/json does, and besides what some hosts write: a number as an id, a count with
// decimals or in quotes.
func Unmarshal(data []byte, v any) error {
	const most = 64 // such values in one event
	for range most {
		err := json.Unmarshal(data, v)
		var form *json.UnmarshalTypeError
		if !errors.As(err, &form) {
			return err
		}
		fixed, ok := inForm(data, form)
		if !ok {
			return err
		}
		data = fixed
	}
	return json.Unmarshal(data, v)
}

// inForm returns data with the number that is of another type than its member in the form of that type.
func inForm(data []byte, form *json.UnmarshalTypeError) (fixed []byte, ok bool) {
	if form.Offset > int64(len(data)) {
		return nil, false // of a value inside, which was read on its own
	}
	from, to := lastNumber(data[:form.Offset])
	value := string(data[from:to])
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return nil, false
	}
	quoted := to < int(form.Offset)
	if quoted {
		from, to = from-1, to+1
	}
	switch kind := form.Type.Kind(); {
	case kind == reflect.String && !quoted:
		value = `"` + value + `"`
	case kind == reflect.Int:
		value = strconv.FormatInt(int64(math.Round(min(max(n, -1e12), 1e12))), 10)
	default:
		return nil, false
	}
	return bytes.Join([][]byte{data[:from], data[to:]}, []byte(value)), true
}

// lastNumber returns the place of the number that data ends with, without its quotes if it has some; else it is empty.
func lastNumber(data []byte) (from, to int) {
	to = len(data)
	quoted := to > 0 && data[to-1] == '"'
	if quoted {
		to--
	}
	from = to
	for from > 0 && bytes.IndexByte([]byte("0123456789+-.eE"), data[from-1]) >= 0 {
		from--
	}
	if quoted && (from == 0 || data[from-1] != '"') {
		from = to
	}
	return from, to
}
