package web

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// metaMax is how far into a page its charset is looked for, as browsers do.
const metaMax = 1024

// inUTF8 returns a text in UTF-8, by the charset of its Content-Type, else by that of a page's meta element. What is
// UTF-8 already, has a byte order mark or names no known charset stays as it is.
func inUTF8(body []byte, contentType string) []byte {
	kind, params, _ := mime.ParseMediaType(contentType)
	text := kind == "" || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "xml") || strings.HasSuffix(kind,
		"json")
	if !text || utf8.Valid(body) && !bytes.Contains(body, []byte{0x1b}) || bytes.HasPrefix(body, []byte{0xfe, 0xff}) ||
		bytes.HasPrefix(body, []byte{0xff, 0xfe}) {
		return body // with an escape it may be ISO-2022-JP
	}
	name := params["charset"]
	if name == "" {
		name = metaCharset(body)
	}
	known, err := htmlindex.Get(name)
	if err != nil || known == encoding.Replacement {
		return body
	}
	if canonical, _ := htmlindex.Name(known); canonical == "utf-8" {
		return body
	}
	out, err := known.NewDecoder().Bytes(body)
	if err != nil {
		return body
	}
	return out
}

// metaCharset is the charset that a page names in its first bytes: <meta charset=...>, or in a content of "text/html;
// charset=...".
func metaCharset(body []byte) string {
	head := strings.ToLower(string(body[:min(len(body), metaMax)]))
	for {
		i := strings.Index(head, "<meta")
		if i < 0 {
			return ""
		}
		tag, rest, _ := strings.Cut(head[i:], ">")
		if _, value, ok := strings.Cut(tag, "charset="); ok {
			value = strings.TrimLeft(value, `"' `)
			return value[:len(value)-len(strings.TrimLeft(value, "abcdefghijklmnopqrstuvwxyz0123456789-_:"))]
		}
		head = rest
	}
}
