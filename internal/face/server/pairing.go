package server

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pairing is a code with which one device gets a token.
type Pairing struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
	Scopes  []Scope   `json:"scopes"`
	URLs    []string  `json:"urls,omitempty" jsonschema:"pages of this server that take the code, which is in the fragment"`
}

const (
	pairingLives = 5 * time.Minute
	mostPairings = 20
	mostWrong    = 10 // attempts with a wrong code; then all codes are void
	codeLength   = 10
	codeLetters  = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ" // 32 that are not mistaken for each other
)

// pairings are the open ones.
type pairings struct {
	mu    sync.Mutex
	open  []openPairing
	wrong int
}

type openPairing struct {
	Pairing
	device Device // as it will be
}

// begin makes a code.
func (p *pairings) begin(d Device) Pairing {
	b := random(codeLength)
	for i := range b {
		b[i] = codeLetters[b[i]%byte(len(codeLetters))]
	}
	out := Pairing{Code: string(b), Expires: time.Now().Add(pairingLives).UTC(), Scopes: d.Scopes}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	if len(p.open) >= mostPairings {
		p.open = p.open[1:]
	}
	p.open = append(p.open, openPairing{out, d})
	return out
}

func (p *pairings) expire() {
	p.open = slices.DeleteFunc(p.open, func(o openPairing) bool { return time.Now().After(o.Expires) })
	if len(p.open) == 0 {
		p.wrong = 0
	}
}

// take uses a code up.
func (p *pairings) take(code string) (Device, error) {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	found := -1
	for i, o := range p.open {
		if subtle.ConstantTimeCompare([]byte(o.Code), []byte(code)) == 1 {
			found = i
		}
	}
	if found < 0 {
		if p.wrong++; p.wrong >= mostWrong {
			p.open, p.wrong = nil, 0
		}
		return Device{}, problem(http.StatusForbidden, "wrong-code", "The code is not valid",
			"a code works once, within five minutes; after ten wrong ones all are void", "make another: lathe serve pair")
	}
	d := p.open[found].device
	p.open = slices.Delete(p.open, found, found+1)
	return d, nil
}
