package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"errors"
	"io"

	"golang.org/x/image/tiff/lzw"
)

// Stream is a stream: a dictionary, and bytes that its filters decode.
type Stream struct {
	Dict               Dict
	reader             *Reader
	offset, length     int64
	number, generation int
}

// Bytes are the decoded bytes, as many as there are before an error, and at most streamMax.
func (s *Stream) Bytes() []byte {
	filters, params := s.filters()
	if len(filters) > 10 {
		return nil
	}
	var src io.Reader = io.NewSectionReader(s.reader.src, s.offset, s.length)
	if c := s.reader.crypt; c != nil && s.Dict["Type"] != Name("XRef") && (len(filters) == 0 || filters[0] != "Crypt") {
		raw, err := io.ReadAll(io.LimitReader(src, streamMax))
		if err != nil {
			return nil
		}
		src = bytes.NewReader(c.stream(s.number, s.generation, raw))
	}
	for i, f := range filters {
		decoded, err := filter(s.reader, f, params[i], src)
		if err != nil {
			return nil
		}
		src = decoded
	}
	out, err := io.ReadAll(io.LimitReader(src, streamMax))
	if err != nil && len(out) == 0 {
		return nil
	}
	return out
}

// filters lists the filters and the parameters of each.
func (s *Stream) filters() ([]Name, []Dict) {
	r := s.reader
	list := r.Value(s.Dict["Filter"])
	with := r.Value(s.Dict["DecodeParms"])
	if n, ok := list.(Name); ok {
		d, _ := with.(Dict)
		if a, ok := with.(Array); ok && len(a) > 0 {
			d = r.Dict(a[0])
		}
		return []Name{n}, []Dict{d}
	}
	var names []Name
	var params []Dict
	all, _ := with.(Array)
	for i, f := range r.Array(list) {
		names, params = append(names, r.Name(f)), append(params, nil)
		if i < len(all) {
			params[i] = r.Dict(all[i])
		}
	}
	return names, params
}

func filter(r *Reader, name Name, params Dict, src io.Reader) (io.Reader, error) {
	switch name {
	case "FlateDecode":
		z, err := zlib.NewReader(src)
		if err != nil {
			return nil, err
		}
		return predict(r, z, params)
	case "LZWDecode":
		if v, ok := r.Value(params["EarlyChange"]).(float64); ok && v == 0 {
			return nil, errors.ErrUnsupported
		}
		return predict(r, lzw.NewReader(src, lzw.MSB, 8), params)
	case "ASCIIHexDecode":
		raw, err := io.ReadAll(io.LimitReader(src, streamMax))
		return bytes.NewReader([]byte((&lexer{buf: raw}).hex())), err
	case "ASCII85Decode":
		return decode85(src)
	case "RunLengthDecode":
		return runs(src)
	case "Crypt":
		return src, nil
	}
	return nil, errors.ErrUnsupported
}

func decode85(src io.Reader) (io.Reader, error) {
	raw, err := io.ReadAll(io.LimitReader(src, streamMax))
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("<~"))
	if i := bytes.IndexByte(raw, '~'); i >= 0 {
		raw = raw[:i]
	}
	return ascii85.NewDecoder(bytes.NewReader(raw)), nil
}

// runs decodes lengths of runs: n below 128 copies the next n+1 bytes, n above repeats the next byte 257-n times.
func runs(src io.Reader) (io.Reader, error) {
	raw, err := io.ReadAll(io.LimitReader(src, streamMax))
	if err != nil {
		return nil, err
	}
	var out []byte
	for len(raw) > 1 && raw[0] != 128 && len(out) < streamMax {
		n := int(raw[0])
		if n < 128 {
			n = min(n+1, len(raw)-1)
			out, raw = append(out, raw[1:1+n]...), raw[1+n:]
			continue
		}
		out, raw = append(out, bytes.Repeat(raw[1:2], 257-n)...), raw[2:]
	}
	return bytes.NewReader(out), nil
}

// predict undoes the predictor that a compression was prepared with.
func predict(r *Reader, src io.Reader, params Dict) (io.Reader, error) {
	kind := int(r.Number(params["Predictor"]))
	if kind < 2 {
		return src, nil
	}
	or := func(key Name, standard float64) int {
		if v, ok := r.Value(params[key]).(float64); ok {
			standard = v
		}
		return int(standard)
	}
	colours, bits, columns := or("Colors", 1), or("BitsPerComponent", 8), or("Columns", 1)
	if colours < 1 || colours > 64 || bits < 1 || bits > 16 || columns < 1 || columns > 1<<20 {
		return nil, errDamaged
	}
	if kind == 2 && bits != 8 {
		return nil, errors.ErrUnsupported
	}
	p := &predictor{src: src, step: (colours*bits + 7) / 8, png: kind >= 10}
	p.row = make([]byte, (colours*bits*columns+7)/8)
	p.above = make([]byte, len(p.row))
	return p, nil
}

type predictor struct {
	src        io.Reader
	step       int // bytes of a pixel
	png        bool
	row, above []byte
	left       []byte // of row, not read yet
}

func (p *predictor) Read(out []byte) (int, error) {
	if len(p.left) == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(out, p.left)
	p.left = p.left[n:]
	return n, nil
}

func (p *predictor) next() error {
	p.row, p.above = p.above, p.row
	kind := []byte{1}
	if p.png {
		if _, err := io.ReadFull(p.src, kind); err != nil {
			return err
		}
	}
	n, err := io.ReadFull(p.src, p.row)
	if n == 0 {
		return err
	}
	clear(p.row[n:])
	for i := range p.row {
		var a, c byte
		if i >= p.step {
			a, c = p.row[i-p.step], p.above[i-p.step]
		}
		switch b := p.above[i]; kind[0] {
		case 1:
			p.row[i] += a
		case 2:
			p.row[i] += b
		case 3:
			p.row[i] += byte((int(a) + int(b)) / 2)
		case 4:
			p.row[i] += paeth(int(a), int(b), int(c))
		}
	}
	p.left = p.row[:n]
	return nil
}

// paeth is the neighbour that is nearest to a+b-c (PNG, section 9.4).
func paeth(a, b, c int) byte {
	pa, pb, pc := abs(b-c), abs(a-c), abs(a+b-2*c)
	switch {
	case pa <= pb && pa <= pc:
		return byte(a)
	case pb <= pc:
		return byte(b)
	}
	return byte(c)
}

func abs(n int) int { return max(n, -n) }
