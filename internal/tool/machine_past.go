package tool

import (
	"bytes"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Tracked finds a file in the index of the repository of dir: see [permission.World].
func (m *Machine) Tracked(dir, hash string) string {
	repo, ok := git.Find(dir)
	hash = strings.ToLower(hash)
	want, err := hex.DecodeString(hash[:len(hash)/2*2])
	if !ok || err != nil || hash != "" && len(want) < 2 {
		return ""
	}
	mayRead := func(string) permission.Effect { return permission.Allow }
	if m.env.MayRead != nil {
		mayRead = m.env.readings()
	}
	found, secret := "", false
	err = git.Tracked(repo, func(file, blob []byte) {
		if secret || hash != "" && !(bytes.HasPrefix(blob, want) && strings.HasPrefix(git.Blob(blob), hash)) {
			return
		}
		path := filepath.Join(repo.Root, string(file))
		if mayRead(path) != permission.Allow {
			found, secret = path, true
		} else if hash != "" && found == "" {
			found = path
		}
	})
	if err != nil && hash == "" {
		return filepath.Join(repo.GitDir, "index") // it may name any
	}
	return found
}
