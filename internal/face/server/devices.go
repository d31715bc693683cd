package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
)

// Scope is what a device may do.
type Scope string

// Scopes. Each is given by itself.
const (
	Read    Scope = "read"    // see sessions, files and events
	Prompt  Scope = "prompt"  // begin sessions, send prompts, interrupt
	Approve Scope = "approve" // answer questions, change the mode
	Admin   Scope = "admin"   // everything else: devices, settings, deletion, the user's own command lines
)

// Scopes are all of them.
var Scopes = []Scope{Read, Prompt, Approve, Admin}

// Device is a principal with a token.
type Device struct {
	ID      string    `json:"id"`
	Name    string    `json:"name" jsonschema:"the principal: sessions see it beside prompts and answers"`
	Scopes  []Scope   `json:"scopes"`
	Answers string    `json:"answers,omitempty" jsonschema:"which questions it may answer: all (empty), author or none"`
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires,omitzero"`
	Seen    time.Time `json:"seen,omitzero"`
	From    string    `json:"from,omitempty" jsonschema:"the address that it was last seen at"`
}

// keptDevice is a device as it is on disk.
type keptDevice struct {
	Device
	Hash string `json:"hash"` // SHA-256 of the token, which has 256 bits of chance
}

// Devices are those of a user. Processes share the file.
type Devices struct {
	path string

	mu   sync.Mutex
	read os.FileInfo // of the file as it was read; nil: there was none
	told os.FileInfo // of the file as changed saw it
	all  []keptDevice
	seen map[string]time.Time // not yet on disk
}

// DevicesIn are those kept in a folder.
func DevicesIn(folder string) *Devices { return &Devices{path: filepath.Join(folder, "devices.json")} }

// load reads the file if it changed. The lock is held.
func (d *Devices) load() error {
	st, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		d.read, d.all = nil, nil
		return nil
	}
	if err != nil {
		return err
	}
	if d.read != nil && os.SameFile(st, d.read) && st.ModTime().Equal(d.read.ModTime()) && st.Size() == d.read.Size() {
		return nil
	}
	b, err := os.ReadFile(d.path)
	if err != nil {
		return err
	}
	var all []keptDevice
	if err := json.Unmarshal(b, &all); err != nil {
		return fmt.Errorf("the devices cannot be read: %s: %w", d.path, err)
	}
	d.read, d.all = st, all
	return nil
}

// lockWait is how long another process may hold the file.
const lockWait = 5 * time.Second

// change changes the devices in the file.
func (d *Devices) change(f func([]keptDevice) []keptDevice) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(d.path + ".lock")
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("the devices are locked: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	if err := d.load(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(f(slices.Clone(d.all)), "", "  ")
	if err != nil {
		return err
	}
	d.read = nil
	return errors.Join(atomicfile.Write(d.path, append(b, '\n'), 0o600), d.load())
}

// List returns the devices.
func (d *Devices) List() (out []Device, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.load(); err != nil {
		return nil, err
	}
	for _, k := range d.all {
		out = append(out, k.Device)
	}
	return out, nil
}

// Add makes a device and returns its token, which is kept nowhere.
func (d *Devices) Add(dev Device) (Device, string, error) {
	for _, s := range dev.Scopes {
		if !slices.Contains(Scopes, s) {
			return dev, "", fmt.Errorf("there is no scope %q; the scopes are read, prompt, approve and admin", s)
		}
	}
	if dev.Name = strings.TrimSpace(dev.Name); dev.Name == "" || len(dev.Name) > 100 ||
		strings.ContainsFunc(dev.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return dev, "", errors.New("a device needs a name of at most 100 bytes, without control characters")
	}
	if !slices.Contains([]string{"", "author", "none"}, dev.Answers) {
		return dev, "", fmt.Errorf("answers cannot be %q; give author, none or nothing", dev.Answers)
	}
	dev.ID, dev.Made = hex.EncodeToString(random(4)), time.Now().UTC()
	token := "lathe_" + dev.ID + "_" + base64.RawURLEncoding.EncodeToString(random(32))
	return dev, token, d.change(func(all []keptDevice) []keptDevice { return append(all, keptDevice{dev, hashOf(token)}) })
}

// unused is a name that no device has, so that a device cannot take the name of another.
func (d *Devices) unused(name string) (string, error) {
	all, err := d.List()
	out := name
	for n := 2; slices.ContainsFunc(all, func(o Device) bool { return strings.EqualFold(o.Name, out) }); n++ {
		out = fmt.Sprint(name, " ", n)
	}
	return out, err
}

// Revoke removes a device by its id or, if that is one device only, by its name.
func (d *Devices) Revoke(word string) (Device, error) {
	var found []Device
	err := d.change(func(all []keptDevice) []keptDevice {
		for _, by := range []func(keptDevice) bool{
			func(k keptDevice) bool { return k.ID == word }, func(k keptDevice) bool { return k.Name == word },
		} {
			for _, k := range all {
				if by(k) {
					found = append(found, k.Device)
				}
			}
			if len(found) > 0 {
				break
			}
		}
		if len(found) != 1 {
			return all
		}
		return slices.DeleteFunc(all, func(k keptDevice) bool { return k.ID == found[0].ID })
	})
	switch {
	case err != nil:
		return Device{}, err
	case len(found) == 0:
		return Device{}, fmt.Errorf("no device is called %q: %w", word, fs.ErrNotExist)
	case len(found) > 1:
		return Device{}, fmt.Errorf("%d devices are called %q; give the id", len(found), word)
	}
	return found[0], nil
}

// byToken returns the device of a token.
func (d *Devices) byToken(token string) (Device, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.load() != nil {
		return Device{}, false
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(token, "lathe_"), "_")
	got := []byte(hashOf(token))
	for _, k := range d.all {
		if k.ID == id && subtle.ConstantTimeCompare(got, []byte(k.Hash)) == 1 && k.valid() {
			return k.Device, true
		}
	}
	return Device{}, false
}

// has reports whether a device may still come in.
func (d *Devices) has(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.load() == nil && slices.ContainsFunc(d.all, func(k keptDevice) bool { return k.ID == id && k.valid() })
}

// changed reports whether the file of devices changed since this was asked last.
func (d *Devices) changed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.told
	if d.load() != nil {
		return true
	}
	d.told = d.read
	return d.told != before
}

func (d Device) valid() bool { return d.Expires.IsZero() || time.Now().Before(d.Expires) }

// seenEvery is how often the time at which a device was seen is kept.
const seenEvery = time.Minute

// saw notes that a device was here.
func (d *Devices) saw(id, from string) {
	d.mu.Lock()
	now := time.Now().UTC()
	late := now.Sub(d.seen[id]) > seenEvery
	if d.seen == nil {
		d.seen = map[string]time.Time{}
	}
	if late {
		d.seen[id] = now
	}
	d.mu.Unlock()
	if !late {
		return
	}
	_ = d.change(func(all []keptDevice) []keptDevice { // it is only for people
		for i := range all {
			if all[i].ID == id {
				all[i].Seen, all[i].From = now, from
			}
		}
		return all
	})
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails (crypto/rand)
	return b
}
