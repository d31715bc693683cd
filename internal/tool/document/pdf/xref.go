package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// tables reads the tables of objects, the newest first: what a newer one says holds.
func (r *Reader) tables() error {
	tail := make([]byte, min(r.size, 2048))
	if _, err := r.src.ReadAt(tail, r.size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	i := bytes.LastIndex(tail, []byte("startxref"))
	if i < 0 {
		return errDamaged
	}
	l := &lexer{buf: tail, pos: int64(i + len("startxref"))}
	start, _ := l.token()
	at, ok := start.(float64)
	seen := map[int64]bool{}
	for ok && !seen[int64(at)] {
		seen[int64(at)] = true
		trailer, err := r.table(int64(at))
		if err != nil {
			return err
		}
		if r.trailer == nil {
			r.trailer = trailer
		}
		if hybrid, ok := trailer["XRefStm"].(float64); ok && !seen[int64(hybrid)] {
			seen[int64(hybrid)] = true
			if _, err := r.table(int64(hybrid)); err != nil {
				return err
			}
		}
		at, ok = trailer["Prev"].(float64)
	}
	if r.trailer == nil {
		return errDamaged
	}
	return nil
}

// table reads one table and its trailer.
func (r *Reader) table(offset int64) (Dict, error) {
	l := &lexer{src: r.src, pos: offset, refs: true}
	if t, ok := l.token(); !ok || t != keyword("xref") {
		_, v := r.at(offset, 0, 0)
		s, ok := v.(*Stream)
		if !ok || s.Dict["Type"] != Name("XRef") {
			return nil, errDamaged
		}
		return s.Dict, r.tableStream(s)
	}
	for {
		t, ok := l.token()
		if !ok {
			return nil, errDamaged
		}
		if t == keyword("trailer") {
			v, _ := l.value(0)
			d, ok := v.(Dict)
			if !ok {
				return nil, errDamaged
			}
			return d, nil
		}
		first, ok1 := t.(float64)
		t, _ = l.token()
		count, ok2 := t.(float64)
		if !ok1 || !ok2 {
			return nil, errDamaged
		}
		if err := r.section(l, int(first), int(count)); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) section(l *lexer, first, count int) error {
	for i := range count {
		offset, _ := l.token()
		generation, _ := l.token()
		kind, _ := l.token()
		at, ok1 := offset.(float64)
		g, ok2 := generation.(float64)
		if !ok1 || !ok2 || kind != keyword("n") && kind != keyword("f") {
			return errDamaged
		}
		if err := r.add(first+i, place{offset: int64(at), generation: int(g), free: kind == keyword("f")}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) add(number int, p place) error {
	if _, newer := r.objects[number]; !newer {
		r.objects[number] = p
	}
	if len(r.objects) > objectsMax {
		return fmt.Errorf("it has more than %d objects", objectsMax)
	}
	return nil
}

// tableStream reads a table that is a stream (section 7.5.8).
func (r *Reader) tableStream(s *Stream) error {
	w := r.numbers(s.Dict["W"])
	if len(w) < 3 {
		return errDamaged
	}
	wide := 0
	for _, n := range w {
		if n < 0 || n > 8 {
			return errDamaged
		}
		wide += int(n)
	}
	if wide == 0 {
		return errDamaged
	}
	index := r.numbers(s.Dict["Index"])
	if len(index) < 2 {
		index = []float64{0, r.Number(s.Dict["Size"])}
	}
	data := s.Bytes()
	for i := 0; i+1 < len(index); i += 2 {
		for number := int(index[i]); number < int(index[i])+int(index[i+1]) && len(data) >= wide; number++ {
			if err := r.addRow(number, data[:wide], w); err != nil {
				return err
			}
			data = data[wide:]
		}
	}
	return nil
}

func (r *Reader) addRow(number int, row []byte, w []float64) error {
	field := func(width float64) (n int64) {
		for range int(width) {
			n, row = n<<8|int64(row[0]), row[1:]
		}
		return n
	}
	kind := int64(1)
	if w[0] > 0 {
		kind = field(w[0])
	}
	a, b := field(w[1]), field(w[2])
	switch kind {
	case 0:
		return r.add(number, place{free: true})
	case 1:
		return r.add(number, place{offset: a, generation: int(b)})
	case 2:
		return r.add(number, place{offset: b, stream: int(a)})
	}
	return nil
}

// rebuild finds the objects of a file whose tables cannot be read. The last object of a number holds.
func (r *Reader) rebuild() error {
	if r.size > rebuildMax {
		return errDamaged
	}
	data := make([]byte, r.size)
	if _, err := io.ReadFull(io.NewSectionReader(r.src, 0, r.size), data); err != nil {
		return err
	}
	r.objects, r.trailer, r.crypt = map[int]place{}, Dict{}, nil
	clear(r.packed)
	begins := regexp.MustCompile(`(\d{1,10})[ \t\r\n]+(\d{1,5})[ \t\r\n]+obj\b`)
	for _, m := range begins.FindAllSubmatchIndex(data, objectsMax) {
		number, _ := strconv.Atoi(string(data[m[2]:m[3]]))
		generation, _ := strconv.Atoi(string(data[m[4]:m[5]]))
		r.objects[number] = place{offset: int64(m[0]), generation: generation}
	}
	r.rebuildTrailer(data)
	return r.rebuildPacked()
}

// rebuildTrailer takes over every trailer, the last one first.
func (r *Reader) rebuildTrailer(data []byte) {
	for range 100 {
		i := bytes.LastIndex(data, []byte("trailer"))
		if i < 0 {
			return
		}
		l := &lexer{buf: data, pos: int64(i + len("trailer")), refs: true}
		v, _ := l.value(0)
		if d, ok := v.(Dict); ok {
			r.inherit(d)
		}
		data = data[:i]
	}
}

func (r *Reader) inherit(d Dict) {
	for _, key := range []Name{"Root", "Encrypt", "ID"} {
		if _, there := r.trailer[key]; !there && d[key] != nil {
			r.trailer[key] = d[key]
		}
	}
}

// rebuildPacked finds the objects in object streams, and the catalogue of a file without trailers.
func (r *Reader) rebuildPacked() error {
	var streams []int
	for number := range r.objects {
		d := r.Dict(Ref{Number: number})
		switch d["Type"] {
		case Name("XRef"):
			r.inherit(d)
		case Name("ObjStm"):
			streams = append(streams, number)
		case Name("Catalog"):
			r.inherit(Dict{"Root": Ref{Number: number}})
		}
	}
	if e := r.Dict(r.trailer["Encrypt"]); e != nil {
		c, err := newCrypt(r, e)
		if err != nil {
			return err
		}
		r.crypt = c
	}
	for _, number := range streams {
		s, ok := r.Value(Ref{Number: number}).(*Stream)
		if !ok {
			continue
		}
		for inner := range unpacked(r, s).places {
			if err := r.add(inner, place{stream: number}); err != nil {
				return err
			}
			if d := r.Dict(Ref{Number: inner}); d["Type"] == Name("Catalog") {
				r.inherit(Dict{"Root": Ref{Number: inner}})
			}
		}
	}
	return nil
}
