package teams

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// skew is how far clocks may be apart.
const skew = 5 * time.Minute

// key is a public key of the service, with the channels that it signs for.
type key struct {
	public   rsa.PublicKey
	channels []string
}

// keys are the public keys of the service, which are loaded when they are needed.
type keys struct {
	metadata string
	http     *http.Client

	mu     sync.Mutex
	byID   map[string]key
	loaded time.Time
	tried  time.Time
}

// How long keys are kept, and how soon an unknown one makes them load again.
const (
	keysFor   = 24 * time.Hour
	keysAgain = time.Minute
)

var errKey = errors.New("the key is not one of the service's")

// find returns a key by its id.
func (k *keys) find(ctx context.Context, id string) (key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.byID[id]
	if ok && time.Since(k.loaded) < keysFor {
		return found, nil
	}
	if time.Since(k.tried) < keysAgain && !k.loaded.IsZero() {
		return key{}, errKey
	}
	k.tried = time.Now()
	if err := k.load(ctx); err != nil {
		return key{}, fmt.Errorf("the keys of the Bot Framework cannot be loaded: %w", err)
	}
	if found, ok = k.byID[id]; !ok {
		return key{}, errKey
	}
	return found, nil
}

// load loads the keys. The caller holds the lock.
func (k *keys) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	get := func(url string, result any) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		return getJSON(k.http, req, result)
	}
	var meta struct {
		Keys string `json:"jwks_uri"`
	}
	if err := get(k.metadata, &meta); err != nil {
		return err
	}
	var set struct {
		Keys []struct {
			ID           string   `json:"kid"`
			Type         string   `json:"kty"`
			N            string   `json:"n"`
			E            string   `json:"e"`
			Endorsements []string `json:"endorsements"`
		} `json:"keys"`
	}
	if err := get(meta.Keys, &set); err != nil {
		return err
	}
	byID := map[string]key{}
	for _, j := range set.Keys {
		n, errN := base64.RawURLEncoding.DecodeString(j.N)
		e, errE := base64.RawURLEncoding.DecodeString(j.E)
		if j.Type != "RSA" || errN != nil || errE != nil || len(n) < 256 || len(e) == 0 || len(e) > 4 {
			continue
		}
		byID[j.ID] = key{
			rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}, j.Endorsements,
		}
	}
	k.byID, k.loaded = byID, time.Now()
	return nil
}

// claims are what a token says.
type claims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	Expires  int64  `json:"exp"`
	Before   int64  `json:"nbf"`
	Service  string `json:"serviceurl"`

	channels []string // that its key signs for
}

// verify checks the token of a request: signature, issuer, audience, times. Tokens of Entra for agentic identities have
// another issuer, and are refused by that.
func (t *Transport) verify(ctx context.Context, header string) (c claims, err error) {
	raw, ok := strings.CutPrefix(header, "Bearer ")
	parts := strings.Split(raw, ".")
	if !ok || len(parts) != 3 {
		return c, errors.New("there is no token")
	}
	var head struct{ Alg, Kid string }
	if err := decode(parts[0], &head); err != nil || head.Alg != "RS256" {
		return c, errors.New("the token is not signed by RS256")
	}
	k, err := t.keys.find(ctx, head.Kid)
	if err != nil {
		return c, err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || rsa.VerifyPKCS1v15(&k.public, crypto.SHA256, sum[:], signature) != nil {
		return c, errors.New("the signature is wrong")
	}
	if err := decode(parts[1], &c); err != nil {
		return c, errors.New("the claims cannot be read")
	}
	c.channels = k.channels
	app := t.o.AppID
	now := time.Now()
	switch {
	case c.Issuer != t.c.issuer:
		return c, fmt.Errorf("the issuer is %q", c.Issuer)
	case !slices.Contains([]string{app, "api://" + app, "api://botid-" + app}, c.Audience):
		return c, fmt.Errorf("the audience is %q", c.Audience)
	case c.Expires == 0 || now.After(time.Unix(c.Expires, 0).Add(skew)):
		return c, errors.New("the token has expired")
	case now.Before(time.Unix(c.Before, 0).Add(-skew)):
		return c, errors.New("the token is not valid yet")
	}
	return c, nil
}

func decode(part string, v any) error {
	b, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// fits checks an activity against the claims of its token.
func (c claims) fits(a *activity) error {
	same := func(s string) string { return strings.ToLower(strings.TrimRight(s, "/")) }
	switch {
	case c.Service == "" || same(c.Service) != same(a.ServiceURL):
		return errors.New("the service URL is not that of the token")
	case !slices.Contains(c.channels, a.Channel):
		return errors.New("the key does not sign for this channel")
	}
	return nil
}
