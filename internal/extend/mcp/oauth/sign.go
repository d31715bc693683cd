package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// sign makes the assertion that proves the client's identity (RFC 7523): a JWT for the issuer that counts for a minute.
func (c *Client) sign(l *login) (string, error) {
	key, err := parseKey(c.o.PrivateKey)
	if err != nil {
		return "", err
	}
	now := time.Now()
	claims := map[string]any{
		"iss": l.ClientID, "sub": l.ClientID, "aud": l.Issuer, "iat": now.Unix(),
		"exp": now.Add(time.Minute).Unix(), "jti": rand.Text(),
	}
	return signJWT(key, claims)
}

func parseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the private key is no PEM text")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if ec, ecErr := x509.ParseECPrivateKey(block.Bytes); ecErr == nil {
			return ec, nil
		}
		if old, oldErr := x509.ParsePKCS1PrivateKey(block.Bytes); oldErr == nil {
			return old, nil
		}
		// the parser's error could quote it
		return nil, errors.New("the private key cannot be read; give one in the form PKCS #8")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a private key of the kind %T does not sign", key)
	}
	return signer, nil
}

func signJWT(key crypto.Signer, claims map[string]any) (string, error) {
	alg := ""
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		if k.Curve != elliptic.P256() {
			return "", errors.New("an elliptic key must be of the curve P-256")
		}
		alg = "ES256"
	case *rsa.PrivateKey:
		alg = "RS256"
	case ed25519.PrivateKey:
		alg = "EdDSA"
	default:
		return "", fmt.Errorf("a private key of the kind %T is not used", key)
	}
	head, err := json.Marshal(map[string]string{"alg": alg, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	sig, err := signature(key, []byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), err
}

func signature(key crypto.Signer, text []byte) ([]byte, error) {
	sum := sha256.Sum256(text)
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
		if err != nil {
			return nil, err
		}
		out := make([]byte, 64) // as JWS has it, not as ASN.1
		r.FillBytes(out[:32])
		s.FillBytes(out[32:])
		return out, nil
	case ed25519.PrivateKey:
		return ed25519.Sign(k, text), nil
	}
	return key.Sign(rand.Reader, sum[:], crypto.SHA256)
}
