package llm

import (
	"io"
	"net/http"
	"slices"
	"unsafe"
)

// Body is a request body made of byte segments: encodings of earlier requests are sent again without copying.
// Segments must not change once appended.
type Body struct {
	segs [][]byte
	size int64
}

// Grow makes room for n more segments.
func (b *Body) Grow(n int) { b.segs = slices.Grow(b.segs, n) }

// Append adds a segment without copying it.
func (b *Body) Append(seg []byte) {
	if len(seg) > 0 {
		b.segs = append(b.segs, seg)
		b.size += int64(len(seg))
	}
}

// AppendString adds a segment without copying it.
func (b *Body) AppendString(s string) {
	if s != "" {
		b.Append(unsafe.Slice(unsafe.StringData(s), len(s))) // segments are only read
	}
}

// Len returns the size in bytes.
func (b *Body) Len() int64 { return b.size }

// Bytes returns a copy of the whole body.
func (b *Body) Bytes() []byte {
	out := make([]byte, 0, b.size)
	for _, s := range b.segs {
		out = append(out, s...)
	}
	return out
}

// Reader returns a reader of the body from its start; readers are independent.
func (b *Body) Reader() io.ReadCloser { return &bodyReader{segs: b.segs} }

// Attach sets b as the body of req, with a known length and rewindable.
func (b *Body) Attach(req *http.Request) {
	req.ContentLength = b.size
	req.GetBody = func() (io.ReadCloser, error) { return b.Reader(), nil }
	req.Body = b.Reader()
}

type bodyReader struct {
	segs [][]byte
	off  int // into segs[0]
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.segs) > 0 {
		c := copy(p[n:], r.segs[0][r.off:])
		n += c
		r.off += c
		if r.off == len(r.segs[0]) {
			r.segs, r.off = r.segs[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }
