// Package keyring keeps secrets: in the keyring of the operating system where there is one, else in a file that only
// the user may read.
//
// The words: a secret has a service, such as "mcp", and an account, such as a server's address. The file is also the
// index of the secrets that the operating system keeps, so that looking for a secret that does not exist asks no one.
//
// Promises: a secret that the operating system does not take (there is no keyring, it is locked, the secret is too
// long) is kept in the file, never lost; the file has mode 0600 and is replaced as a whole under a lock across
// processes; no error has a secret in its text.
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

	"github.com/lathe-dev/lathe/internal/base/regular"
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

// errLate says that what the operating system was asked for may still happen.
var errLate = errors.New("the keyring did not answer in time")

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
		return errLate
	}
}

// held is an item of the file.
type held struct {
	Secret string `json:"secret,omitempty"`
	System bool   `json:"system,omitempty"` // the operating system has it
	// the operating system may have an older one, or one whose Set did not come to its end
	Stale bool `json:"stale,omitempty"`
}

type index map[string]map[string]held // by service and account

// Get returns a secret, or ErrNotFound.
func (s *Store) Get(service, account string) (string, error) {
	x, err := s.read()
	if err != nil {
		return "", err
	}
	h := x[service][account]
	switch {
	case h.Secret != "":
		return h.Secret, nil
	case !h.System:
		return "", ErrNotFound
	case s.system == nil:
		return "",
			fmt.Errorf("the secret of %s is in the keyring of the operating system, which cannot be reached from here", account)
	}
	secret, err := s.system.Get(prefix+service, account)
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("the keyring of the operating system: %w", err)
	}
	return secret, err
}

// Set keeps a secret in the place of an earlier one, and reports whether the operating system took it.
func (s *Store) Set(service, account, secret string) (inSystem bool, err error) {
	err = s.change(service, account, func(before held, save func(held) error) error {
		var refused error
		if inSystem, refused, err = s.offer(service, account, secret, before, save); inSystem || err != nil {
			return err
		}
		late := errors.Is(refused, errLate)
		stale := before.System || before.Stale || late
		if err := save(held{Secret: secret, Stale: stale}); err != nil || !stale {
			return err
		}
		if late || s.forget(service, account) != nil {
			return nil // Delete tries it again
		}
		return save(held{Secret: secret})
	})
	return inSystem && err == nil, err
}

// offer gives a secret to the operating system. The file names it before, so that Delete finds it even if lathe is
// killed in between.
func (s *Store) offer(service, account, secret string, before held, save func(held) error) (taken bool, refused,
	err error,
) {
	if s.system == nil {
		return false, nil, nil
	}
	if !before.System && !before.Stale {
		if err := save(held{Secret: before.Secret, Stale: true}); err != nil {
			return false, nil, err
		}
	}
	if refused := s.system.Set(prefix+service, account, secret); refused != nil {
		return false, refused, nil // the file takes it
	}
	return true, nil, save(held{System: true})
}

// forget removes a secret from the keyring of the operating system, if it is there.
func (s *Store) forget(service, account string) error {
	if s.system == nil {
		return fmt.Errorf("a secret of %s is in the keyring of the operating system, which cannot be reached from here; "+
			"log out again where it can, as in a desktop session", account)
	}
	err := s.system.Delete(prefix+service, account)
	if err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	return fmt.Errorf("the keyring of the operating system: %w", err)
}

// Delete removes a secret; one that does not exist is no error. With an error a secret is still in the keyring of the
// operating system.
func (s *Store) Delete(service, account string) error {
	return s.change(service, account, func(h held, save func(held) error) error {
		if !h.System && !h.Stale {
			return save(held{})
		}
		failed := s.forget(service, account)
		if failed == nil {
			return save(held{})
		}
		h.Secret = ""
		return errors.Join(failed, save(h))
	})
}

// Accounts returns the accounts of a service that have a secret. None of these is read.
func (s *Store) Accounts(service string) ([]string, error) {
	x, err := s.read()
	var out []string
	for account, h := range x[service] {
		if h.System || h.Secret != "" {
			out = append(out, account)
		}
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
	data, err := regular.ReadFile(s.file)
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

// change gives f an item, which is the zero one where there is none, and a function that replaces it on disk. Others
// wait meanwhile.
func (s *Store) change(service, account string, f func(h held, save func(held) error) error) error {
	unlock, err := s.Lock(context.Background(), "")
	if err != nil {
		return err
	}
	defer unlock()
	x, err := s.read()
	if err != nil {
		return err
	}
	return f(x[service][account], func(h held) error {
		if x[service] == nil {
			x[service] = map[string]held{}
		}
		x[service][account] = h
		if h == (held{}) {
			delete(x[service], account)
		}
		data, err := json.Marshal(x)
		if err != nil {
			return err
		}
		return replace(s.file, data)
	})
}

// Lock holds other processes, and other callers in this one, off until unlock is called. Each name is a lock of its
// own; the empty one is that of the file, which Set and Delete take.
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
