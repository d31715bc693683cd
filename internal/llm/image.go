package llm

import (
	"slices"
	"strings"
)

// imageFormats are the formats of images that the model APIs take (docs.claude.com, vision; platform.openai.com,
// images and vision), with the first bytes of their files, ? for any byte, and the endings of their names.
var imageFormats = []struct {
	mime    string
	magic   []string
	endings []string
}{
	{"image/png", []string{"\x89PNG\r\n\x1a\n"}, []string{".png"}},
	{"image/jpeg", []string{"\xff\xd8\xff"}, []string{".jpg", ".jpeg"}},
	{"image/gif", []string{"GIF87a", "GIF89a"}, []string{".gif"}},
	{"image/webp", []string{"RIFF????WEBP"}, []string{".webp"}},
}

// ImageType returns the MIME type of an image by its first bytes, or "" if models do not take it.
func ImageType(head []byte) string {
	for _, f := range imageFormats {
		if slices.ContainsFunc(f.magic, func(m string) bool { return beginsWith(head, m) }) {
			return f.mime
		}
	}
	return ""
}

func beginsWith(head []byte, magic string) bool {
	if len(head) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != head[i] {
			return false
		}
	}
	return true
}

// IsImage reports whether a MIME type is an image format that models take.
func IsImage(mime string) bool {
	for _, f := range imageFormats {
		if f.mime == mime {
			return true
		}
	}
	return false
}

// ImageName reports whether a file name has the extension of an image format that models take.
func ImageName(name string) bool {
	name = strings.ToLower(name)
	for _, f := range imageFormats {
		if slices.ContainsFunc(f.endings, func(e string) bool { return strings.HasSuffix(name, e) }) {
			return true
		}
	}
	return false
}
