// Package keyring keeps secrets: in the keyring of the operating system where there is one, else in a file that only the user may read.
//
// The words: a secret has a service, such as "mcp", and an account, such as a server's address. The file is also the index of the secrets that the
// operating system keeps, so that looking for a secret that does not exist asks nobody.
//
// Promises: a secret that the operating system does not take (there is no keyring, it is locked, the secret is too long) is kept in the file, never lost;
// the file has mode 0600 and is replaced as a whole under a lock across processes; no error has a secret in its text.
package keyring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
	system "github.com/zalando/go-keyring"
)

// System is a keyring of an operating system. Get and Delete return ErrNotFound where there is no such secret.
type System interface {
	Get(service, account string) (string, error)
	Set(service, account, secret string) error
	Delete(service, account string) error
}

// ErrNotFound says that there is no such secret.
var ErrNotFound = system.ErrNotFound

// prefix marks lathe's services among those of other programs.
const prefix = "lathe:"

// patience is how long the operating system may take: it may ask the user to unlock the keyring.
const patience = 30 * time.Second

// Store keeps secrets. It is safe for concurrent use, also by several processes.
type Store struct {
	file   string
	system System
}

// Open returns the store of a file; nothing is read. A nil system keeps all in the file.
func Open(file string, s System) *Store { return &Store{file: file, system: s} }

// OS returns the keyring of this machine, nil where there is none. LATHE_KEYRING=file says that there is none.
func OS(getenv func(string) string) System {
	if getenv("LATHE_KEYRING") == "file" {
		return nil
	}
	switch runtime.GOOS {
	case "darwin", "windows":
		return machine{}
	case "linux", "freebsd", "openbsd", "netbsd":
		if getenv("DBUS_SESSION_BUS_ADDRESS") != "" { // else the library would start a bus
			return machine{}
		}
	}
	return nil
}

// machine is the keyring of the operating system.
type machine struct{}

func (machine) Get(service, account string) (secret string, err error) {
	err = within(func() (err error) { secret, err = system.Get(service, account); return err })
	return secret, err
}

func (machine) Set(service, account, secret string) error {
	return within(func() error { return system.Set(service, account, secret) })
}

func (machine) Delete(service, account string) error {
	return within(func() error { return system.Delete(service, account) })
}

// within gives up on an operating system that does not answer; the call itself cannot be cancelled.
func within(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("the keyring did not answer within %s", patience)
	}
}

// held is an item of the file.
type held struct {
	Secret string `json:"secret,omitempty"`
	System bool   `json:"system,omitempty"` // the operating system has it
}

type index map[string]map[string]held // by service and account

// Get returns a secret, or ErrNotFound.
func (s *Store) Get(service, account string) (string, error) {
	x, err := s.read()
	if err != nil {
		return "", err
	}
	h, ok := x[service][account]
	switch {
	case !ok:
		return "", ErrNotFound
	case !h.System:
		return h.Secret, nil
	case s.system == nil:
		return "", fmt.Errorf("the secret of %s is in the keyring of the operating system, which cannot be reached from here", account)
	}
	secret, err := s.system.Get(prefix+service, account)
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("the keyring of the operating system: %w", err)
	}
	return secret, err
}

// Set keeps a secret in the place of an earlier one, and reports whether the operating system took it.
func (s *Store) Set(service, account, secret string) (inSystem bool, err error) {
	err = s.change(func(x index) {
		if x[service] == nil {
			x[service] = map[string]held{}
		}
		inSystem = s.system != nil && s.system.Set(prefix+service, account, secret) == nil // else the file takes it
		if inSystem {
			x[service][account] = held{System: true}
		} else {
			x[service][account] = held{Secret: secret}
		}
	})
	return inSystem, err
}

// Delete removes a secret; one that does not exist is no error.
func (s *Store) Delete(service, account string) error {
	var failed error
	err := s.change(func(x index) {
		h, ok := x[service][account]
		if ok && h.System && s.system != nil {
			if failed = s.system.Delete(prefix+service, account); errors.Is(failed, ErrNotFound) {
				failed = nil
			}
		}
		if failed == nil {
			delete(x[service], account)
		}
	})
	return errors.Join(failed, err)
}

// Accounts returns the accounts of a service that have a secret. None of these is read.
func (s *Store) Accounts(service string) ([]string, error) {
	x, err := s.read()
	var out []string
	for account := range x[service] {
		out = append(out, account)
	}
	return out, err
}

// InSystem reports whether the operating system has a secret, not the file.
func (s *Store) InSystem(service, account string) bool {
	x, _ := s.read()
	return x[service][account].System
}

func (s *Store) read() (index, error) {
	x := index{}
	data, err := os.ReadFile(s.file)
	if errors.Is(err, os.ErrNotExist) {
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &x) != nil { // its error could quote a secret
		return nil, fmt.Errorf("%s is damaged; move it away and log in again", s.file)
	}
	return x, nil
}

func (s *Store) change(f func(index)) error {
	unlock, err := s.Lock(context.Background(), "")
	if err != nil {
		return err
	}
	defer unlock()
	x, err := s.read()
	if err != nil {
		return err
	}
	f(x)
	data, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return replace(s.file, data)
}

// Lock holds other processes, and other callers in this one, off until unlock is called. Each name is a lock of its own; the empty one is that of
// the file, which Set and Delete take.
func (s *Store) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return nil, err
	}
	path := s.file + ".lock"
	if name != "" {
		path = s.file + "." + name + ".lock"
	}
	l := flock.New(path, flock.SetPermissions(0o600))
	if ok, err := l.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return nil, fmt.Errorf("%s is held by another process: %w", path, err)
	}
	return func() { _ = l.Unlock() }, nil // closing the file releases it in any case
}

// replace writes a file as a whole, on disk before it has its name.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // half a file
	}
	return err
}
