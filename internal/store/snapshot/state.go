package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// Kind is the kind of a file.
type Kind byte

// The kinds. None: there is no file. Unknown: the file was not covered, so nothing is known of it.
const (
	None    Kind = 0
	File    Kind = 'f'
	Link    Kind = 'l' // a symbolic link; the content is its target
	Dir     Kind = 'd'
	Unknown Kind = '?'
)

// Hash is the SHA-256 of a content.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads hexadecimal digits.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != 2*len(h) {
		return fmt.Errorf("a hash has %d digits, not %d", 2*len(h), len(b))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// State is one file as it was at a time. The zero value is no file.
type State struct {
	Kind  Kind   `json:"k,omitempty"`
	Mode  uint32 `json:"m,omitempty"` // permission bits, with setuid, setgid and sticky as in fs.FileMode
	Size  int64  `json:"s,omitempty"` // bytes
	Hash  Hash   `json:"h,omitzero"`
	Group uint64 `json:"g,omitempty"` // the inode, of a file with several hard links
	// Uncovered is the reason why the content was not kept; Hash then represents the stat data.
	Uncovered string `json:"u,omitempty"`

	// inGit: the content is not in the store but in the object store of git, and Hash holds its id there. Only the state
	// of a file that did not change yet is such a one; none gets into a record.
	inGit bool
}

// same reports whether two states have the same kind, mode and content.
func (s State) same(o State) bool {
	return s.Kind == o.Kind && (s.Kind == None || s.Kind == Unknown || s.Kind == Link && s.Hash == o.Hash ||
		s.Mode == o.Mode && s.Hash == o.Hash)
}

// kept reports whether the content of the state is in the store.
func (s State) kept() bool { return s.Kind != Unknown && s.Uncovered == "" && !s.inGit }

// modeBits are the bits of a mode that are restored.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Change is a file before and after a step.
type Change struct {
	Path   string `json:"p"` // absolute
	Before State  `json:"b,omitzero"`
	After  State  `json:"a,omitzero"`
}

// Void reports whether the file is after as it was before.
func (c Change) Void() bool { return c.Before.same(c.After) }

// Kinds of records.
const (
	Began       = "began"       // a step is about to run; Changes has the files it names, before it
	Step        = "step"        // a step has ended
	Foreign     = "foreign"     // changes between two steps, by somebody else
	Background  = "background"  // changes between two steps, while a background command ran
	Interrupted = "interrupted" // changes of a step whose process died
	Undo        = "undo"
	Redo        = "redo"
	Restore     = "restore"   // a person chose a state to go back to
	Switch      = "switch"    // the conversation went over to another branch
	restoring   = "restoring" // a restore is about to change files
	pruned      = "pruned"    // the steps in Of were let go
	finished    = "finished"  // the segment ends; has no other meaning than to confirm the contents before it
)

// Record is one line of the store's history.
type Record struct {
	ID      string `json:"id"` // sorts by time
	Kind    string `json:"kind"`
	Process int    `json:"pid,omitempty"`
	Where
	Begin string   `json:"begin,omitempty"` // the record of its beginning
	Of    []string `json:"of,omitempty"`    // the records that an undo takes back, or the one that a redo does
	Again []string `json:"again,omitempty"` // the records that a switch does again
	// the records in Of stay part of their branch: the conversation went back too
	Kept    bool     `json:"kept,omitempty"`
	Changes []Change `json:"changes,omitempty"`

	Heads uint32 `json:"heads,omitempty"` // of the frames between the record before and this one
}

// Where says where in a conversation a step belongs.
type Where struct {
	Session string `json:"session,omitempty"`
	Message string `json:"message,omitempty"` // the entry of the user's message that it serves
	Group   string `json:"group,omitempty"`   // the same for all calls of one reply of the model
	Call    string `json:"call,omitempty"`
	Agent   string `json:"agent,omitempty"` // the chain of a subagent
	Title   string `json:"title,omitempty"` // a few words for people

	Named []string `json:"-"` // files and folders that the step is known to change: they are copied first
}
