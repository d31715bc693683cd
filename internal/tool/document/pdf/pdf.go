// Package pdf reads the objects of PDF files (ISO 32000-1): pages, their fonts and the operators that draw them.
//
// Files come from anybody. Whatever is in one, reading it returns: depths, numbers of objects and the length of decoded
// streams are bounded, and references in circles end. A file whose table of objects is damaged is searched for its
// objects. Encrypted files are read where the user's password is empty.
//
// Nothing is made at the start of the program: the tables of encodings are text that is searched when a font needs it.
package pdf

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// ErrPassword says that a file needs a password.
var ErrPassword = errors.New("the PDF is protected by a password")

var errDamaged = errors.New("the table of objects is damaged")

const (
	objectsMax = 4 << 20  // objects of a file
	pagesMax   = 200_000  // pages of a file
	streamMax  = 64 << 20 // bytes of a decoded stream
	cacheMax   = 32 << 20 // bytes of decoded object streams that are kept
	rebuildMax = 256 << 20
)

// Reader reads a file.
type Reader struct {
	src     io.ReaderAt
	size    int64
	objects map[int]place
	trailer Dict
	crypt   *crypt
	pages   []Dict

	packed  map[int]*packed // decoded object streams
	packedN int             // their bytes
	loading map[int]bool    // objects that are being read
}

// place is where an object is.
type place struct {
	offset     int64 // in the file; or the index in the object stream
	generation int
	stream     int // number of the object stream; 0: in the file
	free       bool
}

// Page is a page.
type Page struct {
	reader    *Reader
	dict      Dict
	Resources Dict // also of the nodes above the page
}

// Open reads the tables of a file of size bytes.
func Open(src io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{src: src, size: size, objects: map[int]place{}, packed: map[int]*packed{}, loading: map[int]bool{}}
	head := make([]byte, min(size, 1024))
	if _, err := src.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Contains(head, []byte("%PDF-")) {
		return nil, errors.New("it does not begin as a PDF")
	}
	err := r.tables()
	if err == nil {
		err = r.prepare()
	}
	if err == nil || errors.Is(err, ErrPassword) {
		return r, err
	}
	if err := r.rebuild(); err != nil {
		return nil, err
	}
	return r, r.prepare()
}

// prepare reads what stands at the top: encryption and the list of pages.
func (r *Reader) prepare() error {
	if e := r.Dict(r.trailer["Encrypt"]); e != nil {
		c, err := newCrypt(r, e)
		if err != nil {
			return err
		}
		r.crypt = c
		clear(r.packed)
	}
	root := r.Dict(r.trailer["Root"])
	if root == nil {
		return errDamaged
	}
	r.pages = nil
	r.collect(root["Pages"], nil, map[Ref]bool{}, 0)
	if len(r.pages) == 0 {
		return errors.New("it has no pages")
	}
	return nil
}

// inherited are the keys that a page takes from the nodes above it.
func inherited() []Name { return []Name{"Resources", "MediaBox", "Rotate"} }

// collect lists the pages below a node of the tree of pages.
func (r *Reader) collect(v any, above Dict, seen map[Ref]bool, depth int) {
	ref, isRef := v.(Ref)
	node := r.Dict(v)
	if node == nil || isRef && seen[ref] || depth > deepest || len(r.pages) >= pagesMax {
		return
	}
	if isRef {
		seen[ref] = true
	}
	own := Dict{}
	for _, key := range inherited() {
		if v, ok := node[key]; ok {
			own[key] = v
		} else if v, ok := above[key]; ok {
			own[key] = v
		}
	}
	kids, ok := r.Value(node["Kids"]).(Array)
	if !ok {
		page := Dict{"Contents": node["Contents"]}
		for k, v := range own {
			page[k] = v
		}
		r.pages = append(r.pages, page)
		return
	}
	for _, kid := range kids {
		r.collect(kid, own, seen, depth+1)
	}
}

// Pages is the number of pages.
func (r *Reader) Pages() int { return len(r.pages) }

// Page is page n, from 1.
func (r *Reader) Page(n int) *Page {
	d := r.pages[n-1]
	return &Page{reader: r, dict: d, Resources: r.Dict(d["Resources"])}
}

// Contents are the operators of the page, as far as they can be decoded.
func (p *Page) Contents() []byte {
	v := p.reader.Value(p.dict["Contents"])
	if s, ok := v.(*Stream); ok {
		return s.Bytes()
	}
	var all []byte
	list, _ := v.(Array)
	for _, part := range list {
		if s, ok := p.reader.Value(part).(*Stream); ok && len(all) < streamMax {
			all = append(append(all, s.Bytes()...), '\n')
		}
	}
	return all
}

// Value follows references. An object that is not there, or cannot be read, is nil.
func (r *Reader) Value(v any) any {
	for range 10 {
		ref, ok := v.(Ref)
		if !ok {
			return v
		}
		v = r.object(ref.Number)
	}
	return nil
}

// Dict is a value as a dictionary, that of a stream as well; nil if it is none.
func (r *Reader) Dict(v any) Dict {
	switch v := r.Value(v).(type) {
	case Dict:
		return v
	case *Stream:
		return v.Dict
	}
	return nil
}

// Array is a value as a list; nil if it is none.
func (r *Reader) Array(v any) Array {
	a, _ := r.Value(v).(Array)
	return a
}

// Name is a value as a name; empty if it is none.
func (r *Reader) Name(v any) Name {
	n, _ := r.Value(v).(Name)
	return n
}

// Number is a value as a number; 0 if it is none.
func (r *Reader) Number(v any) float64 {
	n, _ := r.Value(v).(float64)
	return n
}

// object reads an object.
func (r *Reader) object(number int) any {
	at, ok := r.objects[number]
	if !ok || at.free || r.loading[number] {
		return nil
	}
	r.loading[number] = true
	defer delete(r.loading, number)
	if at.stream != 0 {
		return r.unpack(at.stream, number)
	}
	found, v := r.at(at.offset, number, at.generation)
	if found != number {
		return nil
	}
	return v
}

// at reads the object at an offset, and returns its number; -1 where there is none.
func (r *Reader) at(offset int64, number, generation int) (int, any) {
	l := &lexer{src: r.src, pos: offset, refs: true}
	n, _ := l.token()
	_, _ = l.token()
	found, ok := n.(float64)
	if k, _ := l.token(); !ok || k != keyword("obj") {
		return -1, nil
	}
	if r.crypt != nil {
		l.decrypt = r.crypt.strings(number, generation)
	}
	v, ok := l.value(0)
	if !ok {
		return -1, nil
	}
	if _, odd := v.(keyword); odd {
		return int(found), nil
	}
	if d, isDict := v.(Dict); isDict {
		if s := r.stream(l, d, number, generation); s != nil {
			return int(found), s
		}
	}
	return int(found), v
}

// stream is the stream that begins after its dictionary, or nil.
func (r *Reader) stream(l *lexer, d Dict, number, generation int) *Stream {
	if k, _ := l.token(); k != keyword("stream") {
		return nil
	}
	if c, _ := l.peek(); c == '\r' {
		l.pos++
	}
	if c, _ := l.peek(); c == '\n' {
		l.pos++
	}
	start := l.pos
	length := int64(r.Number(d["Length"]))
	if !r.ends(start, length) {
		length = r.search(start)
	}
	return &Stream{Dict: d, reader: r, offset: start, length: length, number: number, generation: generation}
}

// ends reports whether a stream of this length ends with its keyword.
func (r *Reader) ends(start, length int64) bool {
	if length < 0 || start+length > r.size {
		return false
	}
	l := &lexer{src: r.src, pos: start + length}
	k, _ := l.token()
	return k == keyword("endstream") || k == keyword("endobj")
}

// search is the length of a stream whose dictionary has it wrong.
func (r *Reader) search(start int64) int64 {
	end := []byte("endstream")
	buf := make([]byte, 64<<10)
	for at := start; at < r.size; at += int64(len(buf) - len(end)) {
		n, _ := r.src.ReadAt(buf, at)
		if i := bytes.Index(buf[:n], end); i >= 0 {
			return at + int64(i) - start
		}
	}
	return max(0, r.size-start)
}

// packed is an object stream, decoded.
type packed struct {
	data   []byte
	places map[int]int // number of an object: offset in data
}

// unpack reads an object out of an object stream.
func (r *Reader) unpack(stream, number int) any {
	p := r.packed[stream]
	if p == nil {
		s, ok := r.object(stream).(*Stream)
		if !ok || r.objects[stream].stream != 0 {
			return nil
		}
		p = unpacked(r, s)
		if r.packedN += len(p.data); r.packedN > cacheMax {
			clear(r.packed)
			r.packedN = len(p.data)
		}
		r.packed[stream] = p
	}
	offset, ok := p.places[number]
	if !ok || offset < 0 || offset >= len(p.data) {
		return nil
	}
	l := &lexer{buf: p.data, pos: int64(offset), refs: true}
	v, _ := l.value(0)
	if _, odd := v.(keyword); odd {
		return nil
	}
	return v
}

func unpacked(r *Reader, s *Stream) *packed {
	p := &packed{data: s.Bytes(), places: map[int]int{}}
	first := int(r.Number(s.Dict["First"]))
	l := &lexer{buf: p.data}
	for range min(int(r.Number(s.Dict["N"])), objectsMax) {
		n, _ := l.token()
		at, ok := l.token()
		number, ok1 := n.(float64)
		offset, ok2 := at.(float64)
		if !ok || !ok1 || !ok2 {
			break
		}
		if _, twice := p.places[int(number)]; !twice {
			p.places[int(number)] = first + int(offset)
		}
	}
	return p
}

// numbers are the numbers of a list.
func (r *Reader) numbers(v any) []float64 {
	var out []float64
	for _, e := range r.Array(v) {
		out = append(out, r.Number(e))
	}
	return slices.Clip(out)
}
