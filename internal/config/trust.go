package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// Trust saves that the user trusts this folder with the present values of its files: where Options.Trust is
// nil, later Loads apply the held values until they change. c itself does not change.
func (c *Config) Trust() error { return c.paths.noteTrust(cmp.Or(c.heldDigest, nothingHeld), c.held) }

// nothingHeld represents the digest in a folder without held values: its programs are trusted.
const nothingHeld = "nothing held"

// Distrust removes the answer that Trust saved for this folder.
func (c *Config) Distrust() error {
	err := os.Remove(c.paths.trustFile())
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// HeldValue is a value that needs trust, beside the one that the user trusted last.
type HeldValue struct {
	Value
	State HeldState
	Was   json.RawMessage // the trusted value, for Changed; masked if it is a secret
}

// HeldState compares a held value with the last trusted ones.
type HeldState string

// The states. Without an earlier trust every value is New.
const (
	New       HeldState = "new"
	Changed   HeldState = "changed"
	Unchanged HeldState = "unchanged"
	Removed   HeldState = "removed" // Value is the trusted one, which is no longer in the files
)

// HeldValues returns the held values with their changes since the user trusted this folder last; then those that were
// trusted and are gone. again reports whether there was such a trust whose values are known.
func (c *Config) HeldValues() (values []HeldValue, again bool) {
	kept, again := c.paths.trustedValues()
	for _, v := range c.held {
		h := HeldValue{Value: v, State: New}
		name := trustedValue{File: v.Origin.File, Path: v.Path}.key()
		if old, ok := kept[name]; ok {
			delete(kept, name)
			h.State = Unchanged
			if old.Sum != digest(v.JSON) {
				h.State, h.Was = Changed, old.JSON
			}
		}
		values = append(values, h)
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		old := kept[name]
		values = append(values, HeldValue{
			Value: Value{Path: old.Path, JSON: old.JSON, Origin: Origin{File: old.File}},
			State: Removed,
		})
	}
	return values, again
}

// trustedValue is a value as the trust file keeps it.
type trustedValue struct {
	File string          `json:"file"`
	Path string          `json:"path"`
	JSON json.RawMessage `json:"value"` // masked if it is a secret
	Sum  string          `json:"sum"`   // of the value itself
}

func (t trustedValue) key() string { return t.File + "\x00" + t.Path }

// trustedValues reads the values that were trusted last.
func (p Paths) trustedValues() (map[string]trustedValue, bool) {
	data, err := regular.ReadFile(p.trustFile())
	if err != nil {
		return nil, false
	}
	lines := strings.SplitN(string(data), "\n", 3)
	var all []trustedValue
	if len(lines) < 3 || json.Unmarshal([]byte(lines[2]), &all) != nil { // of a version that kept the digest only
		return nil, false
	}
	out := map[string]trustedValue{}
	for _, v := range all {
		out[v.key()] = v
	}
	return out, true
}

// noteTrust saves the digest of the trusted values, the folder's name for people who read the file, and the values.
func (p Paths) noteTrust(sum string, held []Value) error {
	values := make([]trustedValue, len(held))
	for i, v := range held {
		values[i] = trustedValue{File: v.Origin.File, Path: v.Path, Sum: digest(v.JSON)}
		v.mask()
		values[i].JSON = v.JSON
	}
	kept, err := json.Marshal(values)
	if err != nil {
		return &Error{Text: "cannot remember that the folder is trusted", Err: err}
	}
	file := p.trustFile()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return &Error{Text: "cannot remember that the folder is trusted", Err: err, Hint: "make the state folder writable"}
	}
	if err := replaceFile(file, []byte(sum+"\n"+p.Root+"\n"+string(kept)+"\n"), 0o600); err != nil {
		return &Error{Text: "cannot remember that the folder is trusted", Err: err, Hint: "make the state folder writable"}
	}
	return nil
}

// remembersTrust reports whether these values were trusted in the folder, or in the main checkout of a linked worktree.
func (p Paths) remembersTrust(digest string) bool {
	if main := mainCheckout(p.Root); main != "" && (Paths{Root: main, StateHome: p.StateHome}).keepsTrust(digest) {
		return true
	}
	return p.keepsTrust(digest)
}

// mainCheckout returns the folder whose repository a linked worktree belongs to, "" for any other folder. A .git file
// can name any repository, so the repository must name the worktree too (gitrepository-layout(5),
// worktrees/<id>/gitdir).
func mainCheckout(root string) string {
	own := readLine(filepath.Join(root, ".git"), "gitdir: ")
	if own == "" {
		return ""
	}
	if !filepath.IsAbs(own) {
		own = filepath.Join(root, own)
	}
	own, err := filepath.EvalSymlinks(own)
	common := filepath.Dir(filepath.Dir(own))
	if err != nil || filepath.Base(filepath.Dir(own)) != "worktrees" || filepath.Base(common) != ".git" {
		return ""
	}
	back := readLine(filepath.Join(own, "gitdir"), "")
	if back != "" && !filepath.IsAbs(back) {
		back = filepath.Join(own, back)
	}
	named, err := os.Stat(filepath.Dir(back))
	here, herr := os.Stat(root)
	if back == "" || filepath.Base(back) != ".git" || err != nil || herr != nil || !os.SameFile(named, here) {
		return ""
	}
	return filepath.Dir(common)
}

// readLine returns the first line of a small regular file behind a prefix, "" if there is no such line.
func readLine(path, prefix string) string {
	const most = 8 << 10
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > most {
		return ""
	}
	data, err := regular.ReadFile(path)
	line, _, _ := strings.Cut(string(data), "\n")
	rest, ok := strings.CutPrefix(line, prefix)
	if err != nil || !ok {
		return ""
	}
	return strings.TrimSpace(rest)
}

func (p Paths) keepsTrust(digest string) bool {
	data, err := regular.ReadFile(p.trustFile())
	kept, _, _ := strings.Cut(string(data), "\n")
	return err == nil && digest != "" && kept == digest
}

func (p Paths) trustFile() string {
	root := p.Root
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return filepath.Join(p.StateHome, "trust", digest([]byte(root))[:32])
}
