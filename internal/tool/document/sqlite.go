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
	kind, sql string
	root      int64
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
	err := d.walk(1, 0, func(page []byte, cell int) error {
		record, err := d.record(page, cell)
		if o := schemaRow(record); o.sql != "" && len(objects) <= itemsMax {
			objects = append(objects, o)
		}
		return err
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
	rows, least := 0, ""
	if err := d.walk(o.root, 0, func([]byte, int) error { rows++; return nil }); err != nil {
		least = "at least "
	}
	return fmt.Sprintf("[%s%d rows] %s", least, rows, line)
}

// page reads a page.
func (d *database) page(n int64) ([]byte, error) {
	if d.read++; d.read > sqlitePages {
		return nil, errors.New("the SQLite database is too large to be counted")
	}
	buf := make([]byte, d.pageSize)
	if n < 1 || n > d.pages {
		return nil, errSQLite
	}
	if _, err := d.f.ReadAt(buf, (n-1)*int64(d.pageSize)); err != nil {
		return nil, errSQLite
	}
	return buf, nil
}

// The kinds of pages of a tree: those of an index are of a table without rowid, too (section 1.6).
const (
	indexInterior, tableInterior = 2, 5
	indexLeaf, tableLeaf         = 10, 13
)

// walk calls row with the page and the cell of each row of a table.
func (d *database) walk(number int64, depth int, row func(page []byte, cell int) error) error {
	page, err := d.page(number)
	if err != nil {
		return err
	}
	at := 0
	if number == 1 {
		at = 100
	}
	kind, cells, first := page[at], int(binary.BigEndian.Uint16(page[at+3:])), at+8
	interior := kind == indexInterior || kind == tableInterior
	if interior {
		first = at + 12
	}
	if first+2*cells > len(page) || depth > sqliteDepth || !interior && kind != indexLeaf && kind != tableLeaf {
		return errSQLite
	}
	for i := range cells {
		cell := int(binary.BigEndian.Uint16(page[first+2*i:]))
		if cell+4 > len(page) {
			return errSQLite
		}
		if interior {
			if err := d.walk(int64(binary.BigEndian.Uint32(page[cell:])), depth+1, row); err != nil {
				return err
			}
		}
		if kind != tableInterior {
			if err := row(page, cell); err != nil {
				return err
			}
		}
	}
	if interior {
		return d.walk(int64(binary.BigEndian.Uint32(page[at+8:])), depth+1, row)
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
	for int64(len(out)) < min(size, sqlitePayload) && next > 0 {
		more, err := d.page(next)
		if err != nil {
			break
		}
		next = int64(binary.BigEndian.Uint32(more))
		out = append(out, more[4:4+min(int64(d.used-4), size-int64(len(out)))]...)
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
func schemaRow(record []byte) (o object) {
	size, n := varint(record)
	if n == 0 || size < int64(n) || size > int64(len(record)) {
		return o
	}
	types, body := record[n:size], record[size:]
	var values [5][]byte
	for i := range values {
		kind, n := varint(types)
		types = types[n:]
		length := min(columnLength(kind), int64(len(body))) // the SQL may be cut
		values[i], body = body[:length], body[length:]
	}
	for _, b := range values[3] {
		o.root = o.root<<8 | int64(b)
	}
	o.kind, o.sql = string(values[0]), string(values[4])
	return o
}

// columnLength is the number of bytes of a value by its type (section 2.1).
func columnLength(kind int64) int64 {
	if kind >= 12 {
		return (kind - 12) / 2
	}
	return [12]int64{0, 1, 2, 3, 4, 6, 8, 8}[max(0, kind)]
}
