package session

import (
	"path/filepath"
	"strconv"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// maxSlug is where Claude Code cuts the folder name of a project.
const maxSlug = 200

// realDir is the folder that a session belongs to: absolute, with links resolved where it exists.
func realDir(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Clean(dir)
}

// slug is the name of a project's folder, built as Claude Code does (observed in its SDK): every UTF-16
// unit of the NFC form outside A-Z, a-z and 0-9 becomes a dash; a name longer than 200 is cut and gets a
// hash of the whole.
func slug(real string) string {
	units := utf16.Encode([]rune(norm.NFC.String(real)))
	out := make([]byte, len(units))
	var h int32
	for i, u := range units {
		h = h<<5 - h + int32(u)
		out[i] = '-'
		if u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z' || u >= '0' && u <= '9' {
			out[i] = byte(u)
		}
	}
	if len(out) <= maxSlug {
		return string(out)
	}
	return string(out[:maxSlug]) + "-" + strconv.FormatInt(max(int64(h), -int64(h)), 36)
}
