package cloud

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// The vectors are those that Amazon published for version 4 of its signatures (aws4_testsuite: get-vanilla,
// get-vanilla-query-order-key-case, post-x-www-form-urlencoded, post-sts-header-before).
func TestSignaturesAreThoseOfAmazonsVectors(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	keys := awsKeys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	for _, c := range []struct {
		name, method, address, body, content string
		signed, want                         string
	}{
		{
			"get-vanilla", "GET", "https://example.amazonaws.com/", "", "", "host;x-amz-date",
			"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
		},
		{
			"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "", "",
			"host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
		},
		{
			"post-x-www-form-urlencoded", "POST", "https://example.amazonaws.com/", "Param1=value1",
			"application/x-www-form-urlencoded", "content-type;host;x-amz-date",
			"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
		},
	} {
		u, err := url.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{"User-Agent": {"x"}, "Accept-Encoding": {"gzip"}} // proxies change them
		if c.content != "" {
			h.Set("Content-Type", c.content)
		}
		if err := sign(c.method, u, h, strings.NewReader(c.body), keys, scope{"us-east-1", "service"}, at); err != nil {
			t.Fatal(err)
		}
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" +
			c.signed + ", Signature=" + c.want
		if got := h.Get("Authorization"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

func TestATokenOfASessionIsSigned(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "example.com"}
	h := http.Header{"X-Amz-Security-Token": {"of an earlier attempt"}}
	keys := awsKeys{ID: "A", Secret: "s", Token: "the token"}
	if err := sign("GET", u, h, strings.NewReader(""), keys, scope{"r", "s"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if h.Get("X-Amz-Security-Token") != "the token" || !strings.Contains(h.Get("Authorization"),
		"SignedHeaders=host;x-amz-date;x-amz-security-token,") {
		t.Errorf("%v", h)
	}
	keys.Token = ""
	if err := sign("GET", u, h, strings.NewReader(""), keys, scope{"r", "s"}, time.Now()); err != nil ||
		h.Get("X-Amz-Security-Token") != "" {
		t.Errorf("%v %v", h, err)
	}
	broken := errors.New("the body is gone")
	if err := sign("GET", u, h, iotest.ErrReader(broken), keys, scope{"r", "s"}, time.Now()); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestKeysOfServiceAccounts(t *testing.T) {
	made, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	whole, err := x509.MarshalPKCS8PrivateKey(made)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKCS8PrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ key, want string }{
		{of("PRIVATE KEY", whole), ""},
		{of("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(made)), ""},
		{"no key", "not in PEM form"},
		{of("PRIVATE KEY", []byte("nonsense")), "cannot be read"},
		{of("PRIVATE KEY", other), "no RSA key"},
	} {
		_, err := (&googleFile{Key: c.key}).assertion("aud", time.Now())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestAnImpersonationNeedsItsOwnCredentials(t *testing.T) {
	inner, err := json.Marshal(map[string]string{"type": "service_account", "private_key": "no key"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]any{
		"type": "impersonated_service_account", "service_account_impersonation_url": "http://127.0.0.1:1/",
		"source_credentials": json.RawMessage(inner),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = (&Options{}).fileToken(t.Context(), "creds.json", file)
	if err == nil || !strings.Contains(err.Error(), "not in PEM form") {
		t.Errorf("%v", err)
	}
}
