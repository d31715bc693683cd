package document

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image/color"
	"io"
)

// Very large JPEGs are read at an eighth of their size: of each block of 8 x 8 samples only the average, which is the
// first coefficient, is kept. The others are decoded to get past them, or skipped where they have scans of their own
// (ITU-T T.81, sections A, F.2 and G.2).

var errJPEG = errors.New("its data is wrong")

func startOfFrame(marker byte) bool {
	return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
}

// segments calls f with the segments of a JPEG until it returns false, or the pixels begin.
func segments(r io.Reader, f func(marker byte, body []byte) bool) error {
	var b [2]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return err
	}
	if b != [2]byte{0xFF, 0xD8} {
		return errJPEG
	}
	for {
		marker, body, err := segment(r)
		if err != nil {
			return err
		}
		if !f(marker, body) || marker == 0xDA || marker == 0xD9 {
			return nil
		}
	}
}

// segment reads the next marker and its data.
func segment(r io.Reader) (marker byte, body []byte, err error) {
	var b [2]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, nil, err
	}
	for b[0] != 0xFF || b[1] == 0xFF || b[1] == 0 { // padding, and rubbish between segments
		b[0] = b[1]
		if _, err := io.ReadFull(r, b[1:]); err != nil {
			return 0, nil, err
		}
	}
	if marker = b[1]; marker == 0xD9 || marker >= 0xD0 && marker <= 0xD7 || marker == 0x01 {
		return marker, nil, nil
	}
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint16(b[:])) - 2
	if n < 0 {
		return 0, nil, errJPEG
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return marker, body, err
}

func isProgressive(r io.Reader) (bool, error) {
	found := byte(0)
	err := segments(r, func(marker byte, _ []byte) bool {
		if startOfFrame(marker) {
			found = marker
		}
		return found == 0
	})
	return found == 0xC2, err
}

// plane is one component: the averages of its blocks.
type plane struct {
	id, h, v, table int
	wide, high      int // in blocks, with those that fill up the last unit
	dc              []int32
	dcTable, acTable,
	before int
}

// coarse is a JPEG that is read.
type coarse struct {
	bits          bitReader
	width, height int
	progressive   bool
	planes        []*plane
	maxH, maxV    int
	quant         [4]int32
	dc, ac        [4]*huffman
	restart       int
	adobe         int // the transform that Adobe's segment names; -1: none
}

// coarseJPEG reads a JPEG at an eighth of its size.
func coarseJPEG(r *bufio.Reader, to *scaled) error {
	d := &coarse{adobe: -1}
	d.bits.r = r
	if _, err := r.Discard(2); err != nil {
		return err
	}
	scans := 0
	for {
		marker, body, err := segment(r)
		if err != nil {
			if scans > 0 && errors.Is(err, io.EOF) {
				break // without its end marker
			}
			return err
		}
		if marker == 0xD9 {
			break
		}
		if marker == 0xDA {
			scans++
			err = d.scan(body)
		} else {
			err = d.take(marker, body)
		}
		if err != nil {
			return err
		}
	}
	if scans == 0 {
		return io.ErrUnexpectedEOF
	}
	return d.feed(to)
}

// take reads a segment that is no scan.
func (d *coarse) take(marker byte, body []byte) error {
	switch {
	case marker == 0xC4:
		return d.tables(body)
	case marker == 0xDB:
		for len(body) > 0 {
			n, id := 65, int(body[0]&15)
			if body[0]>>4 != 0 {
				n = 129
			}
			if len(body) < n || id > 3 {
				return errJPEG
			}
			if d.quant[id] = int32(body[1]); n == 129 {
				d.quant[id] = int32(binary.BigEndian.Uint16(body[1:]))
			}
			body = body[n:]
		}
	case marker == 0xDD && len(body) >= 2:
		d.restart = int(binary.BigEndian.Uint16(body))
	case marker == 0xEE && len(body) >= 12 && string(body[:5]) == "Adobe":
		d.adobe = int(body[11])
	case marker == 0xC0 || marker == 0xC1 || marker == 0xC2:
		d.progressive = marker == 0xC2
		return d.frame(body)
	case startOfFrame(marker):
		return errors.New("its kind of coding is not read at this size; make it smaller first")
	}
	return nil
}

func (d *coarse) frame(body []byte) error {
	if len(body) < 6 || d.planes != nil || body[0] != 8 {
		return errJPEG
	}
	d.height, d.width = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	n := int(body[5])
	if n != 1 && n != 3 || len(body) < 6+3*n || d.width == 0 || d.height == 0 {
		return errors.New("its colours are not read at this size; make it smaller first")
	}
	for i := range n {
		b := body[6+3*i:]
		p := &plane{id: int(b[0]), h: int(b[1] >> 4), v: int(b[1] & 15), table: int(b[2])}
		if n == 1 {
			p.h, p.v = 1, 1
		}
		if p.h < 1 || p.h > 4 || p.v < 1 || p.v > 4 || p.table > 3 {
			return errJPEG
		}
		d.maxH, d.maxV = max(d.maxH, p.h), max(d.maxV, p.v)
		d.planes = append(d.planes, p)
	}
	for _, p := range d.planes {
		p.wide, p.high = over(d.width, 8*d.maxH)*p.h, over(d.height, 8*d.maxV)*p.v
		p.dc = make([]int32, p.wide*p.high)
	}
	return nil
}

func over(a, b int) int { return (a + b - 1) / b }

// feed gives the averages as rows, each repeated as often as it stands for rows of the image.
func (d *coarse) feed(to *scaled) error {
	row := make([]byte, 4*d.width)
	for y := range d.height {
		if y%8 == 0 {
			d.colours(row, y/8)
		}
		to.row(row)
	}
	return nil
}

func (d *coarse) colours(row []byte, by int) {
	sample := func(p *plane, bx int) uint8 {
		at := min(by*p.v/d.maxV, p.high-1)*p.wide + min(bx*p.h/d.maxH, p.wide-1)
		return uint8(max(0, min(255, (p.dc[at]*d.quant[p.table]+4)/8+128)))
	}
	for bx := range over(d.width, 8) {
		y := sample(d.planes[0], bx)
		r, g, b := y, y, y
		if len(d.planes) == 3 {
			c, e := sample(d.planes[1], bx), sample(d.planes[2], bx)
			if r, g, b = y, c, e; d.adobe != 0 {
				r, g, b = color.YCbCrToRGB(y, c, e)
			}
		}
		for x := 8 * bx; x < min(8*bx+8, d.width); x++ {
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = r, g, b, 255
		}
	}
}
