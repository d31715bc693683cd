package cloud

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// awsKeys are credentials for Amazon's signatures.
type awsKeys struct{ ID, Secret, Token string }

// scope says what a signature is for.
type scope struct{ region, service string }

// sign signs a request by version 4 (AWS IAM user guide, "Create a signed AWS API request"). The path is encoded twice,
// as for every service but S3.
func sign(method string, u *url.URL, h http.Header, body io.Reader, k awsKeys, s scope, now time.Time) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return err
	}
	at := now.UTC().Format("20060102T150405Z")
	day := at[:8]
	h.Set("X-Amz-Date", at)
	h.Del("X-Amz-Security-Token")
	if k.Token != "" {
		h.Set("X-Amz-Security-Token", k.Token)
	}
	names, lines := signedHeaders(u, h)
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	canonical := strings.Join([]string{
		method, awsEscape(path, true), canonicalQuery(u), lines, names, hex.EncodeToString(sum.Sum(nil)),
	}, "\n")
	whole := sha256.Sum256([]byte(canonical))
	within := day + "/" + s.region + "/" + s.service + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + at + "\n" + within + "\n" + hex.EncodeToString(whole[:])
	key := []byte("AWS4" + k.Secret)
	for _, part := range []string{day, s.region, s.service, "aws4_request"} {
		key = mac(key, part)
	}
	h.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+k.ID+"/"+within+", SignedHeaders="+names+", Signature="+
		hex.EncodeToString(mac(key, text)))
	return nil
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	_, _ = m.Write([]byte(text)) // a hash takes everything
	return m.Sum(nil)
}

// signedHeaders are the headers that proxies leave alone.
func signedHeaders(u *url.URL, h http.Header) (names, lines string) {
	values := map[string]string{"host": u.Host}
	for name, v := range h {
		low := strings.ToLower(name)
		if low == "content-type" || strings.HasPrefix(low, "x-amz") {
			values[low] = strings.Join(strings.Fields(strings.Join(v, ",")), " ")
		}
	}
	var order []string
	for name := range values {
		order = append(order, name)
	}
	slices.Sort(order)
	var b strings.Builder
	for _, name := range order {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(order, ";"), b.String()
}

func canonicalQuery(u *url.URL) string {
	var out []string
	for name, values := range u.Query() {
		for _, v := range values {
			out = append(out, awsEscape(name, false)+"="+awsEscape(v, false))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "&")
}

// awsEscape encodes all but letters, digits and -_.~, and slashes of a path.
func awsEscape(s string, path bool) string {
	const upper = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.~", c) >= 0,
			path && c == '/':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upper[c>>4])
			b.WriteByte(upper[c&15])
		}
	}
	return b.String()
}
