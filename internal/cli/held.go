package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
)

// warn prints the warnings about the settings, first what a folder's settings have that waits for trust.
func (p *program) warn(cfg *config.Config) {
	if text := heldText(cfg); text != "" {
		p.warning(text)
	}
	for _, w := range cfg.Warnings {
		if w.Held == "" {
			p.warning(w.String())
		}
	}
}

// heldText says which settings are held back, and how to allow them; "": none are.
func heldText(cfg *config.Config) string {
	var parts []string
	for _, w := range cfg.Warnings {
		if w.Held == "" {
			continue
		}
		file := w.Origin.File
		if rel, err := filepath.Rel(cfg.Paths().Root, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", w.Held, file))
	}
	if len(parts) == 0 {
		return ""
	}
	return "this folder is not trusted. Held back: " + strings.Join(parts, "; ") + ". " + config.TrustRemedy
}

// heldLine is what the init message says of settings that wait for trust.
type heldLine struct {
	Keys  []string `json:"keys"`
	Allow string   `json:"allow"` // the next move
}

// heldBack are the settings that are held back; nil: none are.
func heldBack(cfg *config.Config) *heldLine {
	var keys []string
	for _, w := range cfg.Warnings {
		if w.Held != "" {
			keys = append(keys, strings.Split(w.Held, ", ")...)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return &heldLine{keys, config.TrustRemedy}
}
