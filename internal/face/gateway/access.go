package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
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

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
)

// Access says who may do what. All ids are those that the service never changes. The zero value denies everything.
type Access struct {
	Users     []string // who may send prompts
	Approvers []string // who may approve; empty: in a private chat, its user
	// Chats are the groups that are heard, and what differs in a chat.
	Chats map[string]Rules
}

// Rules are those of one chat; empty fields are as elsewhere.
type Rules struct {
	Users, Approvers []string
	CWD, Mode        string
	BudgetUSD        float64 // a day; 0: as elsewhere
}

// user reports whether somebody may send prompts in a place. A group has to be listed, and those who were paired in a
// private chat are not listed by that.
func (h *Host) user(p Place, id string) bool {
	rules, listed := h.o.Access.Chats[p.Chat]
	switch {
	case id == "" || p.Group && !listed:
		return false
	case len(rules.Users) > 0:
		return slices.Contains(rules.Users, id)
	case slices.Contains(h.o.Access.Users, id):
		return true
	}
	_, paired := h.pairs.find(id)
	return paired && !p.Group
}

// approvers are those who may approve in a place, as far as they are listed.
func (h *Host) approvers(p Place) []string {
	if rules := h.o.Access.Chats[p.Chat]; len(rules.Approvers) > 0 {
		return rules.Approvers
	}
	return h.o.Access.Approvers
}

// approver reports whether somebody may answer questions about permissions in a place.
func (h *Host) approver(p Place, id string) bool {
	if id == "" || p.Group && !h.heard(p) {
		return false
	}
	if list := h.approvers(p); len(list) > 0 {
		return slices.Contains(list, id)
	}
	if p.Group || !h.user(p, id) {
		return false
	}
	pair, paired := h.pairs.find(id)
	return !paired || pair.Approves || slices.Contains(h.o.Access.Users, id)
}

// heard reports whether a group is listed.
func (h *Host) heard(p Place) bool {
	_, ok := h.o.Access.Chats[p.Chat]
	return ok
}

// Pair is somebody who was paired by a code.
type Pair struct {
	ID       string    `json:"id"`
	Name     string    `json:"name,omitempty"`
	Approves bool      `json:"approves,omitempty"`
	At       time.Time `json:"at"`
}

// invitation is a code that was not used yet. Only its sum is kept.
type invitation struct {
	Sum      string    `json:"sum"`
	Approves bool      `json:"approves,omitempty"`
	Until    time.Time `json:"until"`
}

// pairFile is the content of the file with codes and pairs.
type pairFile struct {
	Codes []invitation `json:"codes,omitempty"`
	Pairs []Pair       `json:"pairs,omitempty"`
}

// Pairs keeps who was paired, in a file that the command line and the host share.
type Pairs struct {
	path string

	mu    sync.Mutex
	at    time.Time // of the file that was read
	cache pairFile
	tries map[string][]time.Time // of wrong codes, by person
}

// Limits of pairing.
const (
	codeBytes = 10 // random bytes of a code
	codeLife  = 15 * time.Minute
	triesHour = 5  // wrong codes of one person
	triesAll  = 30 // and of all
	everybody = "" // the key of those

	lockWait  = 5 * time.Second
	lockEvery = 10 * time.Millisecond
)

// OpenPairs returns the pairs in a gateway's folder.
func OpenPairs(dir string) *Pairs {
	return &Pairs{path: filepath.Join(dir, "pairs.json"), tries: map[string][]time.Time{}}
}

func sumOf(code string) string {
	s := sha256.Sum256([]byte(strings.ToUpper(strings.TrimSpace(code))))
	return hex.EncodeToString(s[:])
}

func (p *Pairs) read() (f pairFile, err error) {
	b, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	return f, err
}

// change changes the file, under a lock of its own.
func (p *Pairs) change(f func(*pairFile) error) error {
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(p.path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, lockEvery); !ok {
		return fmt.Errorf("the list of pairs is in use: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	now, err := p.read()
	if err != nil {
		return err
	}
	now.Codes = slices.DeleteFunc(now.Codes, func(c invitation) bool { return time.Now().After(c.Until) })
	if err := f(&now); err != nil {
		return err
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return atomicfile.Write(p.path, append(b, '\n'), 0o600)
}

// Invite makes a code that pairs one person, and says until when.
func (p *Pairs) Invite(approves bool) (code string, until time.Time, err error) {
	b := make([]byte, codeBytes)
	_, _ = rand.Read(b) // it never fails
	code, until = base32.StdEncoding.EncodeToString(b), time.Now().Add(codeLife)
	return code, until, p.change(func(f *pairFile) error {
		f.Codes = append(f.Codes, invitation{sumOf(code), approves, until})
		return nil
	})
}

// List returns who is paired.
func (p *Pairs) List() ([]Pair, error) {
	f, err := p.read()
	return f.Pairs, err
}

// Remove ends the pairing of somebody.
func (p *Pairs) Remove(id string) error {
	return p.change(func(f *pairFile) error {
		n := len(f.Pairs)
		if f.Pairs = slices.DeleteFunc(f.Pairs, func(q Pair) bool { return q.ID == id }); len(f.Pairs) == n {
			return fmt.Errorf("nobody with the id %q is paired", id)
		}
		return nil
	})
}

// find looks somebody up. The file is read again when it changed.
func (p *Pairs) find(id string) (Pair, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st, err := os.Stat(p.path)
	if err != nil {
		return Pair{}, false
	}
	if !st.ModTime().Equal(p.at) {
		if p.cache, err = p.read(); err != nil {
			return Pair{}, false
		}
		p.at = st.ModTime()
	}
	i := slices.IndexFunc(p.cache.Pairs, func(q Pair) bool { return q.ID == id })
	if i < 0 {
		return Pair{}, false
	}
	return p.cache.Pairs[i], true
}

var errCode = errors.New("this code is not valid")

// redeem pairs somebody by a code, which is used up by that.
func (p *Pairs) redeem(who Person, code string) error {
	if !p.mayTry(who.ID) {
		return errCode
	}
	return p.change(func(f *pairFile) error {
		i := slices.IndexFunc(f.Codes, func(c invitation) bool { return c.Sum == sumOf(code) })
		if i < 0 {
			return errCode
		}
		f.Pairs = append(slices.DeleteFunc(f.Pairs, func(q Pair) bool { return q.ID == who.ID }),
			Pair{who.ID, who.Name, f.Codes[i].Approves, time.Now()})
		f.Codes = slices.Delete(f.Codes, i, i+1)
		return nil
	})
}

// mayTry counts attempts to pair.
func (p *Pairs) mayTry(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	recent := func(key string) []time.Time {
		return slices.DeleteFunc(p.tries[key], func(at time.Time) bool { return time.Since(at) > time.Hour })
	}
	all, own := recent(everybody), recent(id)
	if len(all) >= triesAll || len(own) >= triesHour {
		return false
	}
	if len(all) == 0 {
		clear(p.tries)
	}
	p.tries[everybody], p.tries[id] = append(all, time.Now()), append(own, time.Now())
	return true
}
