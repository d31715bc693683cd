package document

import (
	"bufio"
	"errors"
	"io"
)

// huffman is a table of codes (T.81, annex C).
type huffman struct {
	least, most [17]int32 // by length: the first code, and the last; -1: none
	first       [17]int   // where the values of that length begin
	values      []byte
}

func (d *coarse) tables(body []byte) error {
	for len(body) > 0 {
		if len(body) < 17 {
			return errJPEG
		}
		class, id := body[0]>>4, body[0]&15
		t, code, n := &huffman{}, int32(0), 0
		for length := 1; length <= 16; length++ {
			count := int(body[length])
			t.least[length], t.most[length], t.first[length] = code, code+int32(count)-1, n
			code, n = (code+int32(count))<<1, n+count
		}
		if class > 1 || id > 3 || len(body) < 17+n {
			return errJPEG
		}
		t.values = body[17 : 17+n]
		if class == 0 {
			d.dc[id] = t
		} else {
			d.ac[id] = t
		}
		body = body[17+n:]
	}
	return nil
}

// bitReader reads the bits of a scan.
type bitReader struct {
	r     *bufio.Reader
	value uint32
	have  int
	ended bool // a marker came: the bits that follow are zeros, a few of them
	spare int
}

func (b *bitReader) bit() (int32, error) {
	if b.have == 0 {
		if err := b.fill(); err != nil {
			return 0, err
		}
	}
	b.have--
	return int32(b.value >> b.have & 1), nil
}

func (b *bitReader) fill() error {
	b.value, b.have = 0, 8
	if b.ended {
		if b.spare++; b.spare > 64 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	c, err := b.r.Peek(1)
	if err != nil {
		return err
	}
	b.value = uint32(c[0])
	n := 1
	if b.value == 0xFF {
		two, err := b.r.Peek(2)
		if err != nil {
			return err
		}
		if n = 2; two[1] != 0 { // a marker, which stays
			b.ended, b.value = true, 0
			return nil
		}
	}
	_, err = b.r.Discard(n)
	return err
}

func (b *bitReader) bits(n int) (v int32, err error) {
	for range n {
		one, err := b.bit()
		if err != nil {
			return 0, err
		}
		v = v<<1 | one
	}
	return v, nil
}

// signed reads n bits as T.81 extends them to a sign (F.2.2.1).
func (b *bitReader) signed(n int) (int32, error) {
	v, err := b.bits(n)
	if n > 0 && v < 1<<(n-1) {
		v += -1<<n + 1
	}
	return v, err
}

func (b *bitReader) symbol(t *huffman) (byte, error) {
	if t == nil {
		return 0, errJPEG
	}
	code := int32(0)
	for length := 1; length <= 16; length++ {
		one, err := b.bit()
		if err != nil {
			return 0, err
		}
		if code = code<<1 | one; code <= t.most[length] && code >= t.least[length] {
			return t.values[t.first[length]+int(code-t.least[length])], nil
		}
	}
	return 0, errJPEG
}

// scanHead is the head of a scan.
type scanHead struct {
	planes    []*plane
	start     int  // the first coefficient of the scan; only 0 is of interest
	refine    bool // it adds one bit to coefficients that are known
	low       int  // the bit of the coefficients that the scan ends with
	withOther bool // the coefficients after the first are in the scan, too
}

func (d *coarse) scan(body []byte) error {
	h, err := d.scanHead(body)
	if err != nil {
		return err
	}
	d.bits = bitReader{r: d.bits.r}
	if h.start == 0 {
		if err := d.units(h); err != nil {
			return err
		}
	}
	return d.skip()
}

func (d *coarse) scanHead(body []byte) (*scanHead, error) {
	if d.planes == nil || len(body) < 1 || len(body) < 4+2*int(body[0]) {
		return nil, errJPEG
	}
	h, n := &scanHead{}, int(body[0])
	for i := range n {
		id, tables := int(body[1+2*i]), body[2+2*i]
		for _, p := range d.planes {
			if p.id == id {
				p.dcTable, p.acTable = int(tables>>4&3), int(tables&3)
				h.planes = append(h.planes, p)
				break
			}
		}
	}
	if len(h.planes) != n || n == 0 {
		return nil, errJPEG
	}
	if h.withOther = !d.progressive; d.progressive {
		rest := body[1+2*n:]
		h.start, h.refine, h.low = int(rest[0]), rest[2]>>4 != 0, int(rest[2]&15)
	}
	return h, nil
}

// units reads the units of a scan: one block each where it has one component, else the blocks of all components.
func (d *coarse) units(h *scanHead) error {
	wide, high := over(d.width, 8*d.maxH), over(d.height, 8*d.maxV)
	single := len(h.planes) == 1
	if p := h.planes[0]; single {
		wide, high = over(over(d.width*p.h, d.maxH), 8), over(over(d.height*p.v, d.maxV), 8)
	}
	for _, p := range h.planes {
		p.before = 0
	}
	for i := range wide * high {
		if d.restart > 0 && i > 0 && i%d.restart == 0 {
			if err := d.resync(h); err != nil {
				return err
			}
		}
		for _, p := range h.planes {
			if err := d.unit(h, p, i%wide, i/wide, single); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *coarse) unit(h *scanHead, p *plane, ux, uy int, single bool) error {
	if single {
		return d.block(h, p, uy*p.wide+ux)
	}
	for y := range p.v {
		for x := range p.h {
			if err := d.block(h, p, (uy*p.v+y)*p.wide+ux*p.h+x); err != nil {
				return err
			}
		}
	}
	return nil
}

// block reads the first coefficient of a block, and gets past the others.
func (d *coarse) block(h *scanHead, p *plane, at int) error {
	if h.refine {
		bit, err := d.bits.bit()
		p.dc[at] |= bit << h.low
		return err
	}
	n, err := d.bits.symbol(d.dc[p.dcTable])
	if err != nil || n > 16 {
		return errors.Join(err, errIf(n > 16))
	}
	v, err := d.bits.signed(int(n))
	if err != nil {
		return err
	}
	p.before += int(v)
	p.dc[at] = int32(p.before) << h.low
	for k := 1; h.withOther && k < 64; k++ {
		rs, err := d.bits.symbol(d.ac[p.acTable])
		if err != nil {
			return err
		}
		if rs == 0 {
			break
		}
		k += int(rs >> 4)
		if _, err := d.bits.bits(int(rs & 15)); err != nil {
			return err
		}
	}
	return nil
}

func errIf(wrong bool) error {
	if wrong {
		return errJPEG
	}
	return nil
}

// resync goes behind the next restart marker.
func (d *coarse) resync(h *scanHead) error {
	if err := d.skip(); err != nil {
		return err
	}
	marker, err := d.bits.r.Peek(2)
	if err != nil {
		return err
	}
	if marker[1] < 0xD0 || marker[1] > 0xD7 {
		return errJPEG
	}
	_, _ = d.bits.r.Discard(2)
	d.bits = bitReader{r: d.bits.r}
	for _, p := range h.planes {
		p.before = 0
	}
	return nil
}

// skip goes to the next marker, also a restart marker.
func (d *coarse) skip() error {
	r := d.bits.r
	for {
		b, err := r.Peek(2)
		if err != nil {
			return err
		}
		if b[0] == 0xFF && b[1] != 0 && b[1] != 0xFF {
			return nil
		}
		_, _ = r.Discard(1)
	}
}
