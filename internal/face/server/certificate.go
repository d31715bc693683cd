package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
)

// Files of the certificate that lathe makes, in the server's folder.
const (
	AuthorityFile   = "authority.pem"
	certificateFile = "certificate.pem"
)

// certificateLives is the longest time that Apple's systems accept (support.apple.com/103769: 825 days).
const certificateLives = 820 * 24 * time.Hour

// OwnCertificate is a certificate for names and addresses of this machine, and the authority that signed it, as PEM.
// They are kept in the folder, and made afresh when they expire or names are added. The key of the authority is
// thrown away: who trusts the authority trusts this one certificate.
func OwnCertificate(folder string, names []string) (*tls.Certificate, []byte, error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if c, authority, ok := keptCertificate(folder, names); ok {
		return c, authority, nil
	}
	authority, chain, err := makeCertificate(names)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = errors.Join(atomicfile.Write(filepath.Join(folder, certificateFile), chain, 0o600),
			atomicfile.Write(filepath.Join(folder, AuthorityFile), authority, 0o600))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the certificate cannot be made: %w", err)
	}
	c, err := tls.X509KeyPair(chain, chain)
	return &c, authority, err
}

// keptCertificate is the one in the folder, if it is good for all names and for a month.
func keptCertificate(folder string, names []string) (*tls.Certificate, []byte, bool) {
	chain, err := os.ReadFile(filepath.Join(folder, certificateFile))
	authority, readErr := os.ReadFile(filepath.Join(folder, AuthorityFile))
	if err != nil || readErr != nil {
		return nil, nil, false
	}
	c, err := tls.X509KeyPair(chain, chain)
	if err != nil || time.Until(c.Leaf.NotAfter) < 30*24*time.Hour {
		return nil, nil, false
	}
	for _, n := range names {
		if c.Leaf.VerifyHostname(n) != nil {
			return nil, nil, false
		}
	}
	return &c, authority, true
}

// makeCertificate makes an authority, and a certificate with its key.
func makeCertificate(names []string) (authority, chain []byte, _ error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "lathe on " + names[0]}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(certificateLives), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &signer.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: names[0]}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	for _, b := range []pem.Block{{Type: "CERTIFICATE", Bytes: der}, {Type: "PRIVATE KEY", Bytes: private}} {
		if err := pem.Encode(&out, &b); err != nil {
			return nil, nil, err
		}
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), out.Bytes(), nil
}

func serial() *big.Int { return new(big.Int).SetBytes(random(16)) }
