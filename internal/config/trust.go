package config

import (
	"os"
	"path/filepath"
	"strings"
)

// Trust saves that the user trusts this folder with the present values of its files: where Options.Trust is
// nil, later Loads apply the held values until they change. c itself does not change.
func (c *Config) Trust() error { return c.paths.noteTrust(c.heldDigest) }

// Distrust removes the answer that Trust saved for this folder.
func (c *Config) Distrust() error {
	err := os.Remove(c.paths.trustFile())
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// noteTrust saves the digest of the trusted values, and the folder's name for people who read the file.
func (p Paths) noteTrust(digest string) error {
	file := p.trustFile()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return &Error{Text: "cannot remember that the folder is trusted", Err: err, Hint: "make the state folder writable"}
	}
	if err := replaceFile(file, []byte(digest+"\n"+p.Root+"\n"), 0o600); err != nil {
		return &Error{Text: "cannot remember that the folder is trusted", Err: err, Hint: "make the state folder writable"}
	}
	return nil
}

func (p Paths) remembersTrust(digest string) bool {
	data, err := os.ReadFile(p.trustFile())
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
