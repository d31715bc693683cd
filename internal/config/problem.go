package config

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// Error is one mistake in the configuration. Its text is one line: the place, the key, the value found, the
// values allowed and, where there is one, the next move.
type Error struct {
	Origin  Origin
	Key     string // dotted path of the key, or empty
	Found   string // the value, as JSON, masked where it is secret
	Allowed string // the allowed values
	Text    string // the mistake, where Found and Allowed do not say it
	Hint    string // the next move
	More    int    // number of further mistakes in the same file
	Err     error  // the cause, if any

	rules bool // permission rules would be lost: an error in any file
}

// Error is the line for the user.
func (e *Error) Error() string {
	var parts []string
	if place := e.Origin.String(); e.Origin != (Origin{}) {
		parts = append(parts, place)
	}
	if e.Key != "" {
		parts = append(parts, e.Key)
	}
	what := e.Text
	if e.Found != "" {
		what = strings.TrimPrefix(what+"; found "+e.Found, "; ")
	}
	if e.Allowed != "" {
		what += ", allowed: " + e.Allowed
	}
	if e.Err != nil {
		what = strings.TrimPrefix(what+": "+printable(e.Err.Error()), ": ")
	}
	if e.Hint != "" {
		what += "; " + e.Hint
	}
	if e.More > 0 {
		what += fmt.Sprintf(" (and %d more in this file)", e.More)
	}
	return strings.Join(append(parts, what), ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Warning is a problem that does not stop lathe.
type Warning struct {
	Origin Origin `json:"origin"`
	Key    string `json:"key,omitempty"`
	Text   string `json:"text"`
	Idle   bool   `json:"idle,omitempty"` // not a mistake: nothing reads these keys yet
	// not a mistake: these keys are held back until the folder is trusted, "a, b"
	Held string `json:"held,omitempty"`
}

// String returns one line.
func (w Warning) String() string {
	e := Error{Origin: w.Origin, Key: w.Key, Text: w.Text}
	return e.Error()
}

// asWarning turns a mistake in another program's file into a warning that names the dropped value.
func (e *Error) asWarning(left string) Warning {
	plain := *e
	plain.Origin, plain.Key, plain.More = Origin{}, "", 0
	return Warning{Origin: e.Origin, Key: e.Key, Text: plain.Error() + "; " + left}
}

// nearest returns the name closest to s, if it is a likely typo.
func nearest(s string, names []string) string {
	best, _ := fuzzy.Nearest(s, names, max(1, len(s)/3))
	return best
}
