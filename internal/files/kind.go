package files

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// sniff is how much of a file's head decides whether it is text. It is git's number.
const sniff = 8000

// Binary reports whether a file that begins with head is not text: it has a NUL byte (and no UTF-16 byte
// order mark), a known binary format, or is mostly control characters.
func Binary(head []byte) bool {
	if len(head) > sniff {
		head = head[:sniff]
	}
	if isUTF16(head) {
		return false
	}
	if bytes.IndexByte(head, 0) >= 0 || bytes.HasPrefix(head, []byte("%PDF-")) {
		return true
	}
	odd := 0
	for _, c := range head {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b && c != '\b' {
			odd++
		}
	}
	return odd*10 > len(head)
}

func isUTF16(head []byte) bool {
	if bytes.HasPrefix(head, []byte{0xFF, 0xFE, 0, 0}) {
		return false // UTF-32
	}
	return bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF})
}

// BinaryKind names a binary format by its first bytes, else "binary".
func BinaryKind(head []byte) string {
	for _, m := range []struct{ magic, kind string }{
		{"%PDF-", "PDF"},
		{"PK\x03\x04", "zip archive"},
		{"\x1f\x8b", "gzip"},
		{"\x7fELF", "ELF program"},
		{"MZ", "Windows program"},
		{"\xcf\xfa\xed\xfe", "Mach-O program"},
		{"\xca\xfe\xba\xbe", "Java class or Mach-O program"},
		{"SQLite format 3\x00", "SQLite database"},
		{"\x00asm", "WebAssembly"},
		{"7z\xbc\xaf\x27\x1c", "7-Zip archive"},
		{"\xfd7zXZ\x00", "xz"},
		{"\x28\xb5\x2f\xfd", "zstd"},
		{"BZh", "bzip2"},
		{"OggS", "Ogg media"},
		{"ID3", "MP3 audio"},
		{"BM", "BMP image"},
		{"II*\x00", "TIFF image"},
		{"MM\x00*", "TIFF image"},
		{"wOFF", "font"},
		{"wOF2", "font"},
		{"!<arch>\n", "ar archive"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.kind
		}
	}
	if len(head) > 8 && string(head[4:8]) == "ftyp" {
		return "MP4 media"
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return "tar archive"
	}
	return "binary"
}

// ValidName makes a file name printable: bytes that are not UTF-8 become U+FFFD.
func ValidName(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}
