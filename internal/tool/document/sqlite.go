package document

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The format is that of https://www.sqlite.org/fileformat2.html.
const (
	sqliteMagic   = "SQLite format 3\x00"
	sqlitePages   = 20_000 // pages that are read at most
	sqliteDepth   = 24     // of a tree
	sqlitePayload = 1 << 20
)

var errSQLite = errors.New("the SQLite database is damaged")

// database reads a SQLite file. Nothing in it is trusted: pages, depth and lengths are bounded.
type database struct {
	f              io.ReaderAt
	pageSize, used int // bytes of a page; those that are not reserved
	pages          int64
	read           int
}

// object is a row of the schema.
type object struct {
	kind, name, sql string
	root            int64
}

// listSQLite lists tables with their SQL and rows.
func listSQLite(f io.ReaderAt, size int64) (*Answer, error) {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, errSQLite
	}
	d := &database{f: f, pageSize: int(binary.BigEndian.Uint16(head[16:]))}
	if d.pageSize == 1 {
		d.pageSize = 65536
	}
	if d.pageSize < 512 || d.pageSize&(d.pageSize-1) != 0 || d.pageSize-int(head[20]) < 480 {
		return nil, errSQLite
	}
	d.used, d.pages = d.pageSize-int(head[20]), size/int64(d.pageSize)
	a := &Answer{What: "SQLite database"}
	utf8 := binary.BigEndian.Uint32(head[56:]) <= 1
	if !utf8 {
		return nil, errors.New("the SQLite database has text in UTF-16, which is not read here; use sqlite3 in Bash")
	}
	var objects []object
	err := d.walk(1, 0, func(record []byte) bool {
		if o, ok := schemaRow(record); ok && o.sql != "" {
			objects = append(objects, o)
		}
		return len(objects) <= itemsMax
	})
	if err != nil && len(objects) == 0 {
		return nil, err
	}
	for _, o := range objects {
		if !a.add(d.describe(o)) {
			break
		}
	}
	return a, nil
}

func (d *database) describe(o object) string {
	line := strings.Join(strings.Fields(o.sql), " ")
	if o.kind != "table" || o.root <= 0 || strings.HasPrefix(strings.ToUpper(line), "CREATE VIRTUAL") {
		return line
	}
	rows, whole := 0, true
	if err := d.walk(o.root, 0, func([]byte) bool { rows++; return true }); err != nil {
		whole = false
	}
	if !whole {
		return fmt.Sprintf("[at least %d rows] %s", rows, line)
	}
	return fmt.Sprintf("[%d rows] %s", rows, line)
}

// walk calls f with the record of each row of a table until it returns false. Records are cut to what is on the row's own
// page unless the page is of the schema.
func (d *database) walk(page int64, depth int, f func(record []byte) bool) error {
	if page < 1 || page > d.pages || depth > sqliteDepth {
		return errSQLite
	}
	if d.read++; d.read > sqlitePages {
		return errors.New("the SQLite database is too large to be counted")
	}
	buf := make([]byte, d.pageSize)
	if _, err := d.f.ReadAt(buf, (page-1)*int64(d.pageSize)); err != nil {
		return errSQLite
	}
	at := 0
	if page == 1 {
		at = 100
	}
	kind, cells := buf[at], int(binary.BigEndian.Uint16(buf[at+3:]))
	first := at + 8
	if kind == 5 || kind == 2 {
		first = at + 12
	}
	if first+2*cells > len(buf) {
		return errSQLite
	}
	for i := range cells {
		cell := int(binary.BigEndian.Uint16(buf[first+2*i:]))
		if cell+4 > len(buf) {
			return errSQLite
		}
		switch kind {
		case 13: // leaf of a table
			record, err := d.record(buf, cell)
			if err != nil {
				return err
			}
			if !f(record) {
				return nil
			}
		case 5: // interior of a table
			if err := d.walk(int64(binary.BigEndian.Uint32(buf[cell:])), depth+1, f); err != nil {
				return err
			}
		case 10: // leaf of an index: a table without rowid
			f(nil)
		case 2: // interior of an index has rows, too
			f(nil)
			if err := d.walk(int64(binary.BigEndian.Uint32(buf[cell:])), depth+1, f); err != nil {
				return err
			}
		default:
			return errSQLite
		}
	}
	if kind == 5 || kind == 2 {
		return d.walk(int64(binary.BigEndian.Uint32(buf[at+8:])), depth+1, f)
	}
	return nil
}

// record is the payload of a row, with its overflow pages as far as sqlitePayload.
func (d *database) record(buf []byte, at int) ([]byte, error) {
	size, n := varint(buf[at:])
	_, m := varint(buf[at+n:])
	at += n + m
	if n == 0 || m == 0 || size < 0 || at > len(buf) {
		return nil, errSQLite
	}
	here := size
	if most := int64(d.used - 35); size > most { // section 1.6
		least := int64((d.used-12)*32/255 - 23)
		if here = least + (size-least)%int64(d.used-4); here > most {
			here = least
		}
	}
	if int64(at)+here > int64(len(buf)) {
		return nil, errSQLite
	}
	out := append([]byte(nil), buf[at:at+int(here)]...)
	if here == size || int64(at)+here+4 > int64(len(buf)) {
		return out, nil
	}
	next := int64(binary.BigEndian.Uint32(buf[at+int(here):]))
	for more := make([]byte, d.used); int64(len(out)) < min(size, sqlitePayload) && next > 0 && next <= d.pages; {
		if d.read++; d.read > sqlitePages {
			break
		}
		if _, err := d.f.ReadAt(more, (next-1)*int64(d.pageSize)); err != nil {
			break
		}
		next = int64(binary.BigEndian.Uint32(more))
		out = append(out, more[4:4+min(int64(len(more)-4), size-int64(len(out)))]...)
	}
	return out, nil
}

// varint reads a number of SQLite's; n is 0 where there is none.
func varint(b []byte) (v int64, n int) {
	for i := range min(len(b), 9) {
		if i == 8 {
			return v<<8 | int64(b[i]), 9
		}
		v = v<<7 | int64(b[i]&0x7F)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// schemaRow reads type, name, table, root page and SQL.
func schemaRow(record []byte) (o object, ok bool) {
	size, n := varint(record)
	if n == 0 || size < int64(n) || size > int64(len(record)) {
		return o, false
	}
	types, body := record[n:size], record[size:]
	for column := 0; len(types) > 0 && column < 5; column++ {
		kind, n := varint(types)
		if n == 0 {
			return o, false
		}
		types = types[n:]
		length := columnLength(kind)
		if length > int64(len(body)) {
			if column < 4 {
				return o, false
			}
			length = int64(len(body)) // the SQL was cut
		}
		value := body[:length]
		body = body[length:]
		switch {
		case column == 3 && kind <= 9:
			for _, b := range value {
				o.root = o.root<<8 | int64(b)
			}
			if kind == 9 {
				o.root = 1
			}
		case kind < 13 || kind%2 == 0: // no text
		case column == 0:
			o.kind = string(value)
		case column == 1:
			o.name = string(value)
		case column == 4:
			o.sql = string(value)
		}
	}
	return o, true
}

// columnLength is the number of bytes of a value by its type (section 2.1).
func columnLength(kind int64) int64 {
	switch {
	case kind < 0:
		return 1 << 40
	case kind >= 12:
		return (kind - 12) / 2
	}
	return [12]int64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 1 << 40, 1 << 40}[kind]
}
