package plugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// AddMarket fetches a marketplace and makes it known. Nothing of its plugins is fetched.
func (s *Store) AddMarket(ctx context.Context, src Source) (*Market, error) {
	m, commit, err := s.readMarket(ctx, src)
	if err != nil {
		return nil, err
	}
	all, err := s.Markets()
	if err != nil {
		return nil, err
	}
	if old, ok := all[m.Name]; ok && old.Source != src {
		return nil, fmt.Errorf("a marketplace %s is known already, from %s; remove it first", m.Name, old.Source)
	}
	return m, change(s.known(), func(all map[string]Known) {
		all[m.Name] = Known{Source: src, Commit: commit, Updated: time.Now().UTC().Truncate(time.Second)}
	})
}

// readMarket fetches the list, and keeps a repository's folder.
func (s *Store) readMarket(ctx context.Context, src Source) (*Market, string, error) {
	switch src.Kind {
	case "directory":
		m, err := readMarket(src.Path)
		if err == nil {
			m.Here = true
		}
		return m, "", err
	case "file":
		data, err := os.ReadFile(src.Path)
		if err != nil {
			return nil, "", err
		}
		m, err := parseMarket(data)
		if err == nil {
			m.Here = true
		}
		return m, "", err
	case "json":
		data, err := get(ctx, src.URL, maxManifest)
		if err != nil {
			return nil, "", err
		}
		m, err := parseMarket(data)
		if err != nil {
			return nil, "", err
		}
		return m, "", write(filepath.Join(s.marketDir(m.Name), "marketplace.json"), readerOf(data), 0o600)
	}
	got, err := s.fetch(ctx, src)
	if err != nil {
		return nil, "", err
	}
	defer got.drop()
	m, err := readMarket(got.dir)
	if err != nil {
		return nil, "", err
	}
	next := s.marketDir(m.Name) + ".new"
	_ = os.RemoveAll(next)
	if _, err := copyTree(got.dir, next); err != nil {
		return nil, "", err
	}
	if err := os.RemoveAll(s.marketDir(m.Name)); err != nil {
		return nil, "", err
	}
	m.Root = s.marketDir(m.Name)
	return m, got.commit, os.Rename(next, m.Root)
}

func (s *Store) marketDir(name string) string { return filepath.Join(s.dir, "marketplaces", name) }

// Market reads a known marketplace, or fetches one of the settings.
func (s *Store) Market(ctx context.Context, name string, extra map[string]Source) (*Market, error) {
	all, err := s.Markets()
	if err != nil {
		return nil, err
	}
	k, ok := all[name]
	if !ok {
		src, ok := extra[name]
		if !ok {
			return nil, fmt.Errorf("the marketplace %q is not known; lathe plugin marketplace add adds one", name)
		}
		m, err := s.AddMarket(ctx, src)
		if err == nil && m.Name != name {
			err = fmt.Errorf("the marketplace at %s calls itself %q, not %q", src, m.Name, name)
		}
		return m, err
	}
	switch k.Source.Kind {
	case "directory", "file":
		m, _, err := s.readMarket(ctx, k.Source)
		return m, err
	}
	m, err := readMarket(s.marketDir(name))
	if err == nil && k.Source.Kind == "json" {
		m.Root = ""
	}
	return m, err
}

// UpdateMarket fetches a known marketplace again.
func (s *Store) UpdateMarket(ctx context.Context, name string) (*Market, error) {
	all, err := s.Markets()
	if err != nil {
		return nil, err
	}
	k, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("the marketplace %q is not known; lathe plugin marketplace list shows those that are", name)
	}
	return s.AddMarket(ctx, k.Source)
}

// RemoveMarket forgets a marketplace. Plugins that came from it stay.
func (s *Store) RemoveMarket(name string) error {
	var was bool
	if err := change(s.known(), func(all map[string]Known) { _, was = all[name]; delete(all, name) }); err != nil {
		return err
	}
	if !was {
		return fmt.Errorf("the marketplace %q is not known; lathe plugin marketplace list shows those that are", name)
	}
	return os.RemoveAll(s.marketDir(name))
}
