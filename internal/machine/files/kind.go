package files

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
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
	text := string(head[:min(len(head), 512)])
	for _, k := range kinds() {
		if strings.HasPrefix(text, k[0]) {
			return k[1]
		}
	}
	switch {
	case len(text) > 11 && text[4:8] == "ftyp":
		return mediaKind(text[8:12])
	case len(text) > 11 && text[:4] == "RIFF" && text[8:12] == "WAVE":
		return "WAV audio"
	case len(text) > 11 && text[:4] == "RIFF" && text[8:12] == "AVI ":
		return "AVI video"
	case len(text) > 262 && text[257:262] == "ustar":
		return "tar archive"
	case len(text) > 3 && text[2:4] == "\r\n" && text[1] < ' ':
		return "compiled Python"
	}
	return "binary"
}

// kinds is binaryKinds in pairs.
var kinds = sync.OnceValue(func() (all [][2]string) {
	for line := range strings.Lines(binaryKinds) {
		quoted, kind, _ := strings.Cut(strings.TrimSpace(line), " : ")
		if magic, err := strconv.Unquote(`"` + quoted + `"`); err == nil {
			all = append(all, [2]string{magic, kind})
		}
	}
	return all
})

// binaryKinds are the first bytes of formats and their names.
const binaryKinds = `%PDF- : PDF
PK\x03\x04 : zip archive
PK\x05\x06 : zip archive
\x1f\x8b : gzip
\x1f\x9d : compress
\x7fELF : ELF program
MZ : Windows program
\xcf\xfa\xed\xfe : Mach-O program
\xca\xfe\xba\xbe : Java class or Mach-O program
SQLite format 3\x00 : SQLite database
\x00asm : WebAssembly
\x1bLua : compiled Lua
7z\xbc\xaf\x27\x1c : 7-Zip archive
Rar!\x1a\x07 : RAR archive
MSCF\x00 : cabinet archive
\xed\xab\xee\xdb : RPM package
!<arch>\ndebian-binary : Debian package
!<arch>\n : ar archive
\xfd7zXZ\x00 : xz
\x28\xb5\x2f\xfd : zstd
\x04\x22\x4d\x18 : LZ4
BZh11AY&SY : bzip2
BZh21AY&SY : bzip2
BZh31AY&SY : bzip2
BZh41AY&SY : bzip2
BZh51AY&SY : bzip2
BZh61AY&SY : bzip2
BZh71AY&SY : bzip2
BZh81AY&SY : bzip2
BZh91AY&SY : bzip2
BZh9\x17\x72\x45 : bzip2
OggS : Ogg media
fLaC : FLAC audio
ID3 : MP3 audio
\x1a\x45\xdf\xa3 : Matroska or WebM video
BM : BMP image
II*\x00 : TIFF image
MM\x00* : TIFF image
8BPS : Photoshop image
\x00\x00\x01\x00 : icon image
\x00\x00\x00\x0cjP  : JPEG 2000 image
\x00\x00\x00\x0cJXL  : JPEG XL image
wOFF : font
wOF2 : font
OTTO : font
\x00\x01\x00\x00\x00 : font
ttcf\x00 : font
\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 : document of old Microsoft Office
PAR1 : Parquet table
ARROW1\x00 : Arrow table
\x89HDF\r\n : HDF5 data
\x93NUMPY : NumPy array
bplist00 : binary property list
PACK\x00\x00 : pack of git
DIRC\x00\x00 : index of git
\xd4\xc3\xb2\xa1 : packet capture
\x0a\x0d\x0d\x0a : packet capture
`

// mediaKind is the kind of a file in the container of MP4, by its brand.
func mediaKind(brand string) string {
	switch brand {
	case "avif", "avis":
		return "AVIF image"
	case "heic", "heix", "heim", "heis", "mif1", "msf1":
		return "HEIC image"
	}
	return "MP4 media"
}

// ValidName makes a file name printable: bytes that are not UTF-8 become U+FFFD.
func ValidName(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}
