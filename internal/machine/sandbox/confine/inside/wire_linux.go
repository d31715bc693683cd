//go:build amd64 || arm64

package inside

import (
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Request is a command with its plan. Both ends are the same program, so the form of the text says nothing of itself.
// It is not JSON because paths and arguments are bytes of any kind.
type Request struct {
	Plan      Plan
	Path      string
	Args, Env []string
}

// File returns a file in memory with the request.
func (r *Request) File() (int, error) {
	fd, err := unix.MemfdCreate("lathe-plan", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	text := encode(nil, reflect.ValueOf(*r))
	for at := 0; at < len(text); {
		n, err := unix.Pwrite(fd, text[at:], int64(at)) // it is read from its beginning
		if err != nil {
			unix.Close(fd)
			return -1, err
		}
		at += n
	}
	return fd, nil
}

func encode(out []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return append(binary.AppendUvarint(out, uint64(v.Len())), v.String()...)
	case reflect.Bool:
		if v.Bool() {
			return append(out, 1)
		}
		return append(out, 0)
	case reflect.Slice:
		out = binary.AppendUvarint(out, uint64(v.Len()))
		for i := range v.Len() {
			out = encode(out, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out = encode(out, v.Field(i))
		}
	default: // a number
		return binary.AppendVarint(out, v.Int())
	}
	return out
}

// read reads a request from a file.
func (r *Request) read(fd int) (err error) {
	defer func() {
		if recover() != nil { // an index out of range
			err = unix.EBADMSG
		}
	}()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	text := make([]byte, st.Size)
	for at := 0; at < len(text); {
		n, err := unix.Pread(fd, text[at:], int64(at))
		if err != nil || n == 0 {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		at += n
	}
	decode(text, reflect.ValueOf(r).Elem())
	return nil
}

// decode returns the rest of the text.
func decode(text []byte, v reflect.Value) []byte {
	length := func() int {
		n, size := binary.Uvarint(text)
		text = text[size:]
		return int(n)
	}
	switch v.Kind() {
	case reflect.String:
		n := length()
		if n > 0 { // each piece of memory that a copy of the stem writes costs it a page
			v.SetString(unsafe.String(&text[:n][0], n))
		}
		return text[n:]
	case reflect.Bool:
		v.SetBool(text[0] == 1)
		return text[1:]
	case reflect.Slice:
		n := length()
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			text = decode(text, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			text = decode(text, v.Field(i))
		}
	default:
		n, size := binary.Varint(text)
		v.SetInt(n)
		return text[size:]
	}
	return text
}
