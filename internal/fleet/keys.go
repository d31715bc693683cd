package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Keys are the credentials of a client: it connects with them and signs results.
type Keys struct {
	Public string
	seed   []byte
}

func (k Keys) option() nats.Option { return nats.Nkey(k.Public, k.sign) }

func (k Keys) sign(b []byte) ([]byte, error) {
	pair, err := nkeys.FromSeed(k.seed)
	if err != nil {
		return nil, err
	}
	defer pair.Wipe()
	return pair.Sign(b)
}

func keysDir(dir string) string { return filepath.Join(dir, "keys") }

// The clients that a fleet always has.
const (
	adminKey = "admin"
	localKey = "local" // the workers of this machine
)

// keysFor reads the key of a client, and makes the local ones.
func keysFor(o Options) (Keys, error) {
	if o.Key != "" {
		return readKey(o.Key)
	}
	name := adminKey
	if o.Worker {
		name = localKey
	}
	return makeKey(o.Dir, name)
}

// AdminKey names the file of the key of a fleet's owner.
func AdminKey(dir string) string { return filepath.Join(keysDir(dir), adminKey+".key") }

func readKey(path string) (Keys, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Keys{}, fmt.Errorf("the key: %w", err)
	}
	seed := []byte(strings.TrimSpace(string(b)))
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return Keys{}, fmt.Errorf("%s holds no key: %w", path, err)
	}
	public, err := pair.PublicKey()
	return Keys{public, seed}, err
}

// makeKey returns a key of the folder, made if it is missing.
func makeKey(dir, name string) (Keys, error) {
	path := filepath.Join(keysDir(dir), name+".key")
	k, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return Keys{}, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return Keys{}, err
	}
	if err := os.MkdirAll(keysDir(dir), 0o700); err != nil {
		return Keys{}, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return readKey(path)
	}
	if err != nil {
		return Keys{}, err
	}
	_, err = f.Write(append(seed, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return Keys{}, err
	}
	return readKey(path)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// AddWorker makes the key of a worker on another machine. The engine knows it from its next start on. The file is for
// that machine, beside the file ca.pem.
func AddWorker(dir, name string) (path string, err error) {
	if !plainName.MatchString(name) || name == adminKey {
		return "", fmt.Errorf("%q is not a name of letters, digits, _ and -", name)
	}
	_, err = makeKey(dir, name)
	return filepath.Join(keysDir(dir), name+".key"), err
}

// accounts are the clients that the engine admits: the owner may do all, workers only what their work needs.
func accounts(dir string) ([]*server.NkeyUser, error) {
	for _, name := range []string{adminKey, localKey} {
		if _, err := makeKey(dir, name); err != nil {
			return nil, err
		}
	}
	files, err := filepath.Glob(filepath.Join(keysDir(dir), "*.key"))
	if err != nil {
		return nil, err
	}
	var out []*server.NkeyUser
	for _, file := range files {
		k, err := readKey(file)
		if err != nil {
			return nil, err
		}
		u := &server.NkeyUser{Nkey: k.Public}
		if filepath.Base(file) != adminKey+".key" {
			u.Permissions = workerPermissions()
		}
		out = append(out, u)
	}
	return out, nil
}

// workerPermissions are the subjects of a worker. It takes jobs, and writes records, results, counters and blobs; it
// makes, changes and lists nothing.
func workerPermissions() *server.Permissions {
	blobs := "OBJ_" + blobBucket
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"$JS.API.CONSUMER.MSG.NEXT." + queueStream + ".*", "$JS.API.CONSUMER.INFO." + queueStream + ".*",
			"$JS.API.CONSUMER.MSG.NEXT." + timeStream + ".due", "$JS.API.CONSUMER.INFO." + timeStream + ".due",
			"$JS.ACK." + queueStream + ".>", "$JS.ACK." + timeStream + ".>",
			"$JS.API.STREAM.MSG.GET." + specStream, "$JS.API.STREAM.MSG.GET." + stateStream,
			"$JS.API.STREAM.INFO." + blobs, "$JS.API.STREAM.MSG.GET." + blobs, "$JS.API.DIRECT.GET." + blobs + ".>",
			"$JS.API.STREAM.PURGE." + blobs, "$O." + blobBucket + ".>",
			"$JS.API.DIRECT.GET." + countStream + ".>", "$JS.API.DIRECT.GET." + countStream,
			"fleet.state.*", "fleet.result.*", "fleet.spent", "fleet.rate.*.*", "fleet.worker.*", "fleet.events.*",
			"fleet.spec.*", "fleet.jobs.>", // a schedule that is due becomes a job
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "fleet.cancel", "fleet.wake"}},
	}
}

// Trust tells readers of results whose signatures count: those of the keys in the fleet's folder. Only the owner may.
func (f *Fleet) Trust(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(keysDir(dir), "*.key"))
	if err != nil {
		return err
	}
	trusted := map[string]string{}
	for _, file := range files {
		k, err := readKey(file)
		if err != nil {
			return err
		}
		trusted[k.Public] = strings.TrimSuffix(filepath.Base(file), ".key")
	}
	b, err := json.Marshal(trusted)
	if err != nil {
		return err
	}
	_, err = f.js.Publish(ctx, "fleet.trust", b)
	return err
}

func (f *Fleet) readTrust(ctx context.Context) (map[string]bool, error) {
	var trusted map[string]string
	if _, err := f.get(ctx, stateStream, "fleet.trust", &trusted); err != nil && !errors.Is(err, ErrNot) {
		return nil, err
	}
	out := map[string]bool{f.keys.Public: true}
	for k := range trusted {
		out[k] = true
	}
	return out, nil
}

// signed is a result as it is kept.
type signed struct {
	Result []byte `json:"result"`
	By     string `json:"by"` // the public key of the worker
	Sig    string `json:"sig"`
}

func (k Keys) seal(b []byte) ([]byte, error) {
	sig, err := k.sign(b)
	if err != nil {
		return nil, err
	}
	return json.Marshal(signed{b, k.Public, base64.StdEncoding.EncodeToString(sig)})
}

// ErrForged is returned for a result without the signature of a worker of the fleet.
var ErrForged = errors.New("the result is not signed by a worker of this fleet")

func (s signed) open(trusted map[string]bool) ([]byte, error) {
	pair, err := nkeys.FromPublicKey(s.By)
	if err != nil || !trusted[s.By] {
		return nil, ErrForged
	}
	sig, err := base64.StdEncoding.DecodeString(s.Sig)
	if err != nil || pair.Verify(s.Result, sig) != nil {
		return nil, ErrForged
	}
	return s.Result, nil
}

// certificate returns the engine's certificate for other machines, which is its own authority (ca.pem).
func certificate(dir, host string) (tls.Certificate, error) {
	cert, key := filepath.Join(keysDir(dir), "ca.pem"), filepath.Join(keysDir(dir), "tls.pem")
	if c, err := tls.LoadX509KeyPair(cert, key); err == nil && c.Leaf != nil && c.Leaf.VerifyHostname(host) == nil {
		return c, nil
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	name, _ := os.Hostname() // without it, the address alone is good
	t := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "lathe-fleet"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost", host},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if name != "" {
		t.DNSNames = append(t.DNSNames, name)
	}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = append(t.IPAddresses, ip)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &private.PublicKey, private)
	if err != nil {
		return tls.Certificate{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return tls.Certificate{}, err
	}
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.LoadX509KeyPair(cert, key)
}
