package document

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/lathe-dev/lathe/internal/tool/document/pdf"
)

// pageImage is the picture of a scanned page, small enough for the request.
func pageImage(f io.ReaderAt, size int64, r Request) (*Answer, error) {
	doc, err := openPDF(f, size)
	if err != nil {
		return nil, err
	}
	if r.First < 1 || r.First > doc.Pages() {
		return nil, fmt.Errorf("it has %d pages", doc.Pages())
	}
	p, err := doc.Page(r.First).Picture()
	if err != nil {
		return nil, err
	}
	if p.JPEG != nil {
		a, err := shrink(bytes.NewReader(p.JPEG), r)
		if a != nil {
			a.Pages = doc.Pages()
		}
		return a, err
	}
	small := newScaled(p.Width, p.Height, r.Edge)
	row := make([]byte, 4*p.Width)
	for y := range p.Height {
		unpackRow(row, p, p.Rows[y*p.Stride():(y+1)*p.Stride()])
		small.row(row)
	}
	out := small.out
	a := &Answer{Pages: doc.Pages(), Width: p.Width, Height: p.Height, W: out.Rect.Dx(), H: out.Rect.Dy()}
	a.MIME, a.Data, err = encode(out, false, r.Bytes)
	return a, err
}

// unpackRow writes the pixels of a row with four bytes each.
func unpackRow(row []byte, p *pdf.Image, packed []byte) {
	most := math.MaxUint8 >> (8 - p.Bits)
	c := make([]byte, p.Components)
	for x := range p.Width {
		for k := range c {
			bit := (x*p.Components + k) * p.Bits
			v := int(packed[bit/8]) >> (8 - p.Bits - bit%8) & most
			if p.Inverted {
				v = most - v
			}
			if c[k] = byte(v); p.Palette == nil {
				c[k] = byte(v * 255 / most)
			}
		}
		out := row[4*x : 4*x+4]
		if i := 3 * int(c[0]); p.Palette == nil {
			out[0], out[1], out[2] = pdf.RGB(c)
		} else if i+3 <= len(p.Palette) {
			copy(out, p.Palette[i:i+3])
		}
		out[3] = 255
	}
}
