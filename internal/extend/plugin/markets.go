package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// AddMarket fetches a marketplace and makes it known. Nothing of its plugins is fetched.
func (s *Store) AddMarket(ctx context.Context, src Source) (*Market, error) {
	all, err := s.Markets()
	if err != nil {
		return nil, err
	}
	return s.keepMarket(ctx, src, func(m *Market) error {
		if old, ok := all[m.Name]; ok && old.Source != src {
			return fmt.Errorf("a marketplace %s is known already, from %s; remove it first", m.Name, old.Source)
		}
		return nil
	})
}

// called refuses a list that has another name than the one that its marketplace is known by.
func called(name string, src Source) func(*Market) error {
	return func(m *Market) error {
		if m.Name != name {
			return fmt.Errorf("the marketplace at %s calls itself %q, not %q", src, m.Name, name)
		}
		return nil
	}
}

// keepMarket fetches a marketplace that passes a check, and makes it known.
func (s *Store) keepMarket(ctx context.Context, src Source, check func(*Market) error) (*Market, error) {
	m, commit, err := s.readMarket(ctx, src, check)
	if err != nil {
		return nil, err
	}
	return m, change(s.known(), func(all map[string]Known) {
		all[m.Name] = Known{Source: src, Commit: commit, Updated: time.Now().UTC().Truncate(time.Second)}
	})
}

// readMarket fetches the list, and keeps a repository's folder. A list that does not pass the check replaces nothing.
func (s *Store) readMarket(ctx context.Context, src Source, check func(*Market) error) (m *Market, commit string,
	err error,
) {
	switch src.Kind {
	case "directory":
		m, err = readMarket(src.Path)
	case "file":
		var data []byte
		if data, err = regular.ReadFile(src.Path); err == nil {
			m, err = parseMarket(data)
		}
	case "json":
		m, err = s.listMarket(ctx, src.URL, check)
		return m, "", err
	default:
		return s.cloneMarket(ctx, src, check)
	}
	if err == nil {
		m.Here = true
		err = check(m)
	}
	return m, "", err
}

// listMarket fetches a list that is a file of the network.
func (s *Store) listMarket(ctx context.Context, url string, check func(*Market) error) (*Market, error) {
	data, err := get(ctx, url, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := parseMarket(data)
	if err == nil {
		err = check(m)
	}
	if err != nil {
		return nil, err
	}
	return m, write(filepath.Join(s.marketDir(m.Name), "marketplace.json"), readerOf(data), 0o600)
}

// cloneMarket fetches the repository of a marketplace.
func (s *Store) cloneMarket(ctx context.Context, src Source, check func(*Market) error) (*Market, string, error) {
	got, err := s.fetch(ctx, src)
	if err != nil {
		return nil, "", err
	}
	defer got.drop()
	m, err := readMarket(got.dir)
	if err == nil {
		err = check(m)
	}
	if err != nil {
		return nil, "", err
	}
	next, drop, err := s.folder()
	if err != nil {
		return nil, "", err
	}
	defer drop()
	if _, err := copyTree(got.dir, next); err != nil {
		return nil, "", err
	}
	m.Root = s.marketDir(m.Name)
	if err := errors.Join(os.RemoveAll(m.Root), os.MkdirAll(filepath.Dir(m.Root), 0o700)); err != nil {
		return nil, "", err
	}
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
		return s.keepMarket(ctx, src, called(name, src))
	}
	switch k.Source.Kind {
	case "directory", "file":
		m, _, err := s.readMarket(ctx, k.Source, called(name, k.Source))
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
	return s.keepMarket(ctx, k.Source, called(name, k.Source))
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
