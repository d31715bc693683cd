package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"golang.org/x/image/ccitt"
)

// Image is a picture of a page, in the form in which it is stored.
type Image struct {
	Width, Height int
	Bits          int    // of each component
	Components    int    // 1 grey, 3 RGB, 4 CMYK; of an indexed one 1
	Palette       []byte // three bytes for each index; nil: none
	Inverted      bool   // 0 is white
	JPEG          []byte // of JPEG the file; nil: Rows has rows of pixels, each from a new byte on
	Rows          []byte
}

// ErrNoImage says that a page shows no picture that can be read.
var ErrNoImage = errors.New("the page has no picture that can be read")

// Picture is the largest picture of a page, also in its forms: of a scanned page, the page.
func (p *Page) Picture() (*Image, error) {
	best := p.largest(p.Resources, nil, 0)
	if best == nil {
		return nil, ErrNoImage
	}
	return best.picture()
}

func area(s *Stream) float64 {
	if s == nil {
		return 0
	}
	return s.reader.Number(s.Dict["Width"]) * s.reader.Number(s.Dict["Height"])
}

func (p *Page) largest(resources Dict, best *Stream, depth int) *Stream {
	r := p.reader
	for _, v := range r.Dict(resources["XObject"]) {
		s, ok := r.Value(v).(*Stream)
		if !ok {
			continue
		}
		switch r.Name(s.Dict["Subtype"]) {
		case "Image":
			if area(s) > area(best) {
				best = s
			}
		case "Form":
			if depth < 4 {
				best = p.largest(r.Dict(s.Dict["Resources"]), best, depth+1)
			}
		}
	}
	return best
}

// pixelsMax is how many pixels a picture may have.
const pixelsMax = 150_000_000

func (s *Stream) picture() (*Image, error) {
	r := s.reader
	i := &Image{
		Width: int(r.Number(s.Dict["Width"])), Height: int(r.Number(s.Dict["Height"])),
		Bits: int(r.Number(s.Dict["BitsPerComponent"])), Components: 1,
	}
	if i.Width <= 0 || i.Height <= 0 || i.Width > pixelsMax/i.Height {
		return nil, ErrNoImage
	}
	if d := r.numbers(s.Dict["Decode"]); len(d) >= 2 {
		i.Inverted = d[0] > d[1]
	}
	if mask, _ := r.Value(s.Dict["ImageMask"]).(bool); mask {
		i.Bits = 1
	}
	filters, _ := s.filters()
	if n := len(filters); n > 0 && filters[n-1] == "DCTDecode" {
		i.JPEG = s.until("DCTDecode")
		return i, nil
	}
	last, params := s.lastFilter()
	if last == "CCITTFaxDecode" || last == "JBIG2Decode" {
		i.Bits = 1
	}
	if last == "JBIG2Decode" || last == "JPXDecode" {
		return nil, fmt.Errorf("%w: it is %s", ErrNoImage, map[Name]string{
			"JBIG2Decode": "JBIG2",
			"JPXDecode":   "JPEG 2000",
		}[last])
	}
	if !i.space(r, s.Dict["ColorSpace"], 0) || i.Bits != 1 && i.Bits != 2 && i.Bits != 4 && i.Bits != 8 {
		return nil, ErrNoImage
	}
	if last == "CCITTFaxDecode" {
		return i, i.fax(r, params, s.until(last))
	}
	if i.Rows = s.Bytes(); len(i.Rows) < i.Stride()*i.Height {
		return nil, ErrNoImage // of another format, or too large
	}
	return i, nil
}

// lastFilter is the one that makes the pixels, and its parameters.
func (s *Stream) lastFilter() (Name, Dict) {
	filters, params := s.filters()
	if len(filters) == 0 {
		return "", nil
	}
	return filters[len(filters)-1], params[len(filters)-1]
}

// fax decodes the picture of a fax machine: group 4, or group 3 of one dimension with ends of lines (ISO 32000-1,
// 7.4.6).
func (i *Image) fax(r *Reader, params Dict, data []byte) error {
	format := ccitt.Group4
	switch k := r.Number(params["K"]); {
	case k > 0:
		return fmt.Errorf("%w: it is a fax in two dimensions", ErrNoImage)
	case k == 0:
		format = ccitt.Group3
	}
	columns := 1728
	if n := int(r.Number(params["Columns"])); n > 0 {
		columns = n
	}
	if columns != i.Width || i.Components != 1 {
		return ErrNoImage
	}
	black, _ := r.Value(params["BlackIs1"]).(bool)
	align, _ := r.Value(params["EncodedByteAlign"]).(bool)
	i.Rows = make([]byte, i.Stride()*i.Height)
	in := ccitt.NewReader(bytes.NewReader(data), ccitt.MSB, format, columns, i.Height,
		&ccitt.Options{Align: align, Invert: black})
	if _, err := io.ReadFull(in, i.Rows); err != nil {
		return fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	return nil
}

// Stride is the bytes of a row.
func (i *Image) Stride() int { return (i.Width*i.Components*i.Bits + 7) / 8 }

// until are the bytes that filters before the named one decode.
func (s *Stream) until(name Name) []byte {
	filters, params := s.filters()
	var src io.Reader = io.NewSectionReader(s.reader.src, s.offset, s.length)
	if c := s.reader.crypt; c != nil {
		raw, err := io.ReadAll(io.LimitReader(src, streamMax))
		if err != nil {
			return nil
		}
		src = bytes.NewReader(c.stream(s.number, s.generation, raw))
	}
	for k, f := range filters {
		if f == name {
			break
		}
		decoded, err := filter(s.reader, f, params[k], src)
		if err != nil {
			return nil
		}
		src = decoded
	}
	out, err := io.ReadAll(io.LimitReader(src, streamMax))
	if err != nil {
		return nil
	}
	return out
}

// space reads a colour space. ok is false for one that is not known.
func (i *Image) space(r *Reader, v any, depth int) (ok bool) {
	name, list := r.Name(v), r.Array(v)
	if len(list) > 0 {
		name = r.Name(list[0])
	}
	switch name {
	case "", "DeviceGray", "CalGray", "G":
		i.Components = 1
	case "DeviceRGB", "CalRGB", "RGB":
		i.Components = 3
	case "DeviceCMYK", "CMYK":
		i.Components = 4
	case "ICCBased":
		if len(list) < 2 {
			return false
		}
		i.Components = int(r.Number(r.Dict(list[1])["N"]))
		return i.Components == 1 || i.Components == 3 || i.Components == 4
	case "Indexed", "I":
		return len(list) == 4 && depth == 0 && i.indexed(r, list)
	default:
		return false
	}
	return true
}

func (i *Image) indexed(r *Reader, list Array) bool {
	var base Image
	if !base.space(r, list[1], 1) {
		return false
	}
	var table []byte
	switch v := r.Value(list[3]).(type) {
	case String:
		table = []byte(v)
	case *Stream:
		table = v.Bytes()
	}
	for at := 0; at+base.Components <= len(table) && len(i.Palette) < 3*256; at += base.Components {
		red, green, blue := RGB(table[at : at+base.Components])
		i.Palette = append(i.Palette, red, green, blue)
	}
	i.Components = 1
	return len(i.Palette) > 0
}

// RGB is a colour of one, three or four components.
func RGB(c []byte) (red, green, blue byte) {
	switch len(c) {
	case 1:
		return c[0], c[0], c[0]
	case 3:
		return c[0], c[1], c[2]
	}
	light := func(ink byte) byte { return byte((255 - int(ink)) * (255 - int(c[3])) / 255) }
	return light(c[0]), light(c[1]), light(c[2])
}
