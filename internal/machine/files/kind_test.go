package files

import (
	"strings"
	"testing"
)

func TestBinaryFormatsAreNamed(t *testing.T) {
	for head, want := range map[string]string{
		"%PDF-1.7": "PDF", "PK\x03\x04": "zip archive", "PK\x05\x06": "zip archive", "\x1f\x8b\b": "gzip",
		"BZh91AY&SY": "bzip2", "BZh at the begin of a text\n": "binary",
		"SQLite format 3\x00": "SQLite database", "\x7fELF\x02": "ELF program", "Rar!\x1a\x07\x01": "RAR archive",
		"!<arch>\ndebian-binary ": "Debian package",
		"!<arch>\nx":              "ar archive", "\x00\x00\x00\x20ftypavif": "AVIF image",
		"\x00\x00\x00\x18ftypheic": "HEIC image", "\x00\x00\x00\x20ftypisom": "MP4 media",
		"RIFF\x24\x00\x00\x00WAVEfmt ": "WAV audio", "PAR1\x15": "Parquet table", "\x00\x01\x00\x00\x00\x0c": "font",
		"\xa7\r\r\n\x00":                   "compiled Python",
		"\x00\x00\x00\x0cjP  \r\n":         "JPEG 2000 image",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "document of old Microsoft Office", "\x93NUMPY\x01": "NumPy array",
		strings.Repeat("x", 257) + "ustar\x00": "tar archive", "\x00\x01\x02": "binary", "": "binary",
	} {
		if got := BinaryKind([]byte(head)); got != want {
			t.Errorf("%.20q: %s, want %s", head, got, want)
		}
	}
	if rows := strings.Count(binaryKinds, "\n"); len(kinds()) != rows {
		t.Errorf("%d of %d rows can be read", len(kinds()), rows)
	}
}
