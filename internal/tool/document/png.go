package document

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"image/png"
	"io"
)

// interlacedMax is the size in pixels of an interlaced PNG, which is held whole.
const interlacedMax = 60_000_000

// pngHead is the header of a PNG (https://www.w3.org/TR/png-3/, section 11.2.1).
type pngHead struct {
	width, height int
	depth, kind   int // bits of a sample; colour type
	palette       [256][4]byte
	clear         []byte // the colour that is transparent, as in the chunk tRNS; nil: none
}

var errPNG = errors.New("its header is wrong")

// streamPNG reads a PNG row by row.
func streamPNG(r *bufio.Reader, to *scaled) error {
	if interlaced, err := isInterlaced(r); err != nil {
		return err
	} else if interlaced {
		if to.inW*to.inH > interlacedMax {
			return errors.New("it is interlaced and too large; write it anew without interlacing")
		}
		img, err := png.Decode(r)
		if err != nil {
			return err
		}
		to.feed(img)
		return nil
	}
	if _, err := r.Discard(8); err != nil {
		return err
	}
	h, chunks := &pngHead{}, &chunkReader{r: r}
	for {
		kind, body, err := chunks.next()
		if err != nil {
			return err
		}
		if kind == "IDAT" {
			return h.rows(chunks, to)
		}
		if err := h.take(kind, body); err != nil {
			return err
		}
	}
}

func isInterlaced(r *bufio.Reader) (bool, error) {
	head, err := r.Peek(29)
	if err != nil {
		return false, err
	}
	return head[28] != 0, nil
}

// take reads a chunk before the pixels.
func (h *pngHead) take(kind string, body []byte) error {
	switch kind {
	case "IHDR":
		if len(body) != 13 {
			return errPNG
		}
		h.width, h.height = int(binary.BigEndian.Uint32(body)), int(binary.BigEndian.Uint32(body[4:]))
		h.depth, h.kind = int(body[8]), int(body[9])
		for i := range h.palette {
			h.palette[i][3] = 255
		}
	case "PLTE":
		for i := 0; i+3 <= len(body) && i/3 < 256; i += 3 {
			copy(h.palette[i/3][:3], body[i:])
		}
	case "tRNS":
		if h.kind == 3 {
			for i, a := range body[:min(len(body), 256)] {
				h.palette[i][3] = a
			}
		} else {
			h.clear = body
		}
	case "IEND":
		return io.ErrUnexpectedEOF
	}
	return nil
}

// channels is the number of samples of a pixel, 0 for a header that is wrong.
func (h *pngHead) channels() int {
	n := map[int]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[h.kind]
	small := h.depth == 1 || h.depth == 2 || h.depth == 4
	switch {
	case h.depth == 8, h.depth == 16 && h.kind != 3, small && (h.kind == 0 || h.kind == 3):
		return n
	}
	return 0
}

// rows inflates the pixels.
func (h *pngHead) rows(chunks *chunkReader, to *scaled) error {
	n := h.channels()
	if n == 0 || h.width != to.inW || h.height != to.inH {
		return errPNG
	}
	z, err := zlib.NewReader(chunks)
	if err != nil {
		return err
	}
	pixel := max(1, n*h.depth/8)
	size := (h.width*n*h.depth + 7) / 8
	now, before, out := make([]byte, size+1), make([]byte, size+1), make([]byte, 4*h.width)
	for range h.height {
		if _, err := io.ReadFull(z, now); err != nil {
			return err
		}
		if err := unfilter(now, before, pixel); err != nil {
			return err
		}
		h.colours(out, now[1:])
		to.row(out)
		now, before = before, now
	}
	_, err = io.Copy(io.Discard, io.LimitReader(z, 1<<20)) // to the checksums
	return err
}

// unfilter undoes the filter of a row (section 9).
func unfilter(now, before []byte, pixel int) error {
	kind, now, before := now[0], now[1:], before[1:]
	switch kind {
	case 0:
	case 1:
		for i := pixel; i < len(now); i++ {
			now[i] += now[i-pixel]
		}
	case 2:
		for i, b := range before {
			now[i] += b
		}
	case 3:
		for i := range now {
			left := 0
			if i >= pixel {
				left = int(now[i-pixel])
			}
			now[i] += byte((left + int(before[i])) / 2)
		}
	case 4:
		for i := range now {
			left, corner := 0, 0
			if i >= pixel {
				left, corner = int(now[i-pixel]), int(before[i-pixel])
			}
			now[i] += byte(paeth(left, int(before[i]), corner))
		}
	default:
		return errors.New("a row has an unknown filter")
	}
	return nil
}

func paeth(a, b, c int) int {
	pa, pb, pc := b-c, a-c, a+b-2*c
	pa, pb, pc = max(pa, -pa), max(pb, -pb), max(pc, -pc)
	if pa <= pb && pa <= pc {
		return a
	}
	if pb <= pc {
		return b
	}
	return c
}

// colours turns the samples of a row into red, green, blue, alpha.
func (h *pngHead) colours(out, in []byte) {
	if h.depth < 8 {
		h.packed(out, in)
		return
	}
	bytes := h.depth / 8
	for x := range h.width {
		o := out[4*x : 4*x+4]
		switch h.kind {
		case 0:
			p := in[x*bytes:]
			o[0], o[1], o[2], o[3] = p[0], p[0], p[0], h.opacity(p[:bytes])
		case 2:
			p := in[3*x*bytes:]
			o[0], o[1], o[2], o[3] = p[0], p[bytes], p[2*bytes], h.opacity(p[:3*bytes])
		case 3:
			copy(o, h.palette[in[x]][:])
		case 4:
			p := in[2*x*bytes:]
			o[0], o[1], o[2], o[3] = p[0], p[0], p[0], p[bytes]
		case 6:
			p := in[4*x*bytes:]
			o[0], o[1], o[2], o[3] = p[0], p[bytes], p[2*bytes], p[3*bytes]
		}
	}
}

// packed is colours for samples of 1, 2 and 4 bits.
func (h *pngHead) packed(out, in []byte) {
	each := 8 / h.depth
	mask := byte(1<<h.depth - 1)
	for x := range h.width {
		v := in[x/each] >> (8 - h.depth*(x%each+1)) & mask
		o := out[4*x : 4*x+4]
		if h.kind == 3 {
			copy(o, h.palette[v][:])
			continue
		}
		grey := byte(int(v) * 255 / int(mask))
		o[0], o[1], o[2], o[3] = grey, grey, grey, 255
		if len(h.clear) >= 2 && h.clear[1] == v {
			o[3] = 0
		}
	}
}

// opacity is 0 for the colour that the chunk tRNS makes transparent. The chunk has two bytes a sample.
func (h *pngHead) opacity(samples []byte) byte {
	if h.clear == nil {
		return 255
	}
	if h.depth == 16 {
		if string(h.clear) == string(samples) {
			return 0
		}
		return 255
	}
	if len(h.clear) != 2*len(samples) {
		return 255
	}
	for i, s := range samples {
		if h.clear[2*i+1] != s {
			return 255
		}
	}
	return 0
}

// chunkReader reads the chunks of a PNG and, as a reader, the contents of the IDAT chunks in a row.
type chunkReader struct {
	r    io.Reader
	left int64 // bytes of the current IDAT
	sum  hash.Hash32
	end  bool
}

// chunkMax is how large a chunk before the pixels may be; larger ones (profiles, texts) are skipped.
const chunkMax = 1 << 20

// next reads a chunk; of an IDAT only the head.
func (c *chunkReader) next() (kind string, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return "", nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	kind = string(head[4:])
	if n > 1<<31-1 {
		return "", nil, errors.New("a chunk has no valid length")
	}
	if kind == "IDAT" {
		c.left, c.sum = n, crc32.NewIEEE()
		c.sum.Write(head[4:])
		return kind, nil, nil
	}
	if n > chunkMax {
		_, err := io.CopyN(io.Discard, c.r, n+4)
		return "", nil, err
	}
	body = make([]byte, n+4)
	if _, err := io.ReadFull(c.r, body); err != nil {
		return "", nil, err
	}
	sum := crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, body[:n])
	if sum != binary.BigEndian.Uint32(body[n:]) {
		return "", nil, errors.New("a checksum is wrong")
	}
	return kind, body[:n], nil
}

func (c *chunkReader) Read(p []byte) (int, error) {
	for c.left == 0 {
		if c.end {
			return 0, io.EOF
		}
		if err := c.through(); err != nil {
			return 0, err
		}
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	c.sum.Write(p[:n])
	return n, err
}

// through checks the IDAT that was read and goes to the next.
func (c *chunkReader) through() error {
	var sum [4]byte
	if _, err := io.ReadFull(c.r, sum[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(sum[:]) != c.sum.Sum32() {
		return errors.New("a checksum is wrong")
	}
	kind, _, err := c.next()
	c.end = kind != "IDAT"
	return err
}
