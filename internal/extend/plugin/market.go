package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

const marketplaceFile = ".claude-plugin/marketplace.json"

// marketplaces are the places of the list in a marketplace's folder.
var marketplaces = []string{".lathe-plugin/marketplace.json", marketplaceFile, "marketplace.json"}

// Market is a marketplace as it was read.
type Market struct {
	Name    string `json:"name"`
	Owner   Owner  `json:"owner"`
	Entries []Entry
	Root    string `json:"-"` // its folder; "" for one that is a file from the network
	Here    bool   `json:"-"` // the user named a folder or file of this machine
	Meta    struct {
		Root        string `json:"pluginRoot"`
		Description string `json:"description"`
	} `json:"metadata"`
	Raw   []json.RawMessage `json:"plugins"`
	Notes []string          `json:"-"` // entries that cannot be used
	// the marketplaces that its plugins may need plugins of
	Allows []string `json:"allowCrossMarketplaceDependenciesOn"`
	// Renames has the present names of plugins that had another one; null: there is no such plugin any more.
	Renames map[string]*string `json:"renames"`
}

// Owner is who keeps a marketplace.
type Owner struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Entry is a plugin of a marketplace.
type Entry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Version     string          `json:"version"`
	Category    string          `json:"category"`
	Source      Source          `json:"source"`
	Strict      *bool           `json:"strict"`
	Raw         json.RawMessage `json:"-"`
}

// Source says where a plugin or a marketplace is fetched from.
type Source struct {
	// path, github, git (or url), git-subdir, npm, archive; for marketplaces also file and json
	Kind     string `json:"source"`
	Path     string `json:"path,omitempty"`
	Repo     string `json:"repo,omitempty"`
	URL      string `json:"url,omitempty"`
	Ref      string `json:"ref,omitempty"`
	SHA      string `json:"sha,omitempty"`
	Package  string `json:"package,omitempty"`
	Version  string `json:"version,omitempty"`
	Registry string `json:"registry,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
}

// UnmarshalJSON also takes a relative path.
func (s *Source) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*s = Source{Kind: "path", Path: text}
		return nil
	}
	type plain Source
	return json.Unmarshal(data, (*plain)(s))
}

// String names a source for people: foreign text.
func (s Source) String() string {
	text := map[string]string{
		"github": s.Repo, "npm": s.Package, "path": s.Path, "directory": s.Path,
		"file": s.Path,
	}[s.Kind]
	if text == "" {
		text = s.URL
	}
	if s.Kind == "git-subdir" {
		text += "/" + s.Path
	}
	for _, at := range []string{s.Ref, s.SHA, s.Version} {
		if at != "" {
			text += "@" + at
		}
	}
	return strings.TrimSpace(s.Kind + " " + text)
}

// ParseSource reads a source as people write it: a folder, a file, owner/repository, or the address of a repository,
// with #REF.
func ParseSource(text, dir string) (Source, error) {
	text, ref, _ := strings.Cut(text, "#")
	switch {
	case text == "":
		return Source{}, errors.New("give a folder, owner/repository or the address of a repository")
	case strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"), text == ".", text == "..", filepath.IsAbs(text):
		if !filepath.IsAbs(text) {
			text = filepath.Join(dir, text)
		}
		if strings.HasSuffix(text, ".json") {
			return Source{Kind: "file", Path: filepath.Clean(text)}, nil
		}
		return Source{Kind: "directory", Path: filepath.Clean(text)}, nil
	case strings.HasPrefix(text, "https://") && strings.HasSuffix(text, ".json"):
		return Source{Kind: "json", URL: text}, nil
	case strings.Contains(text, "://"), strings.HasPrefix(text, "git@"):
		return Source{Kind: "git", URL: text, Ref: ref}, checkURL(text)
	case strings.Count(text, "/") == 1 && !strings.HasPrefix(text, "-"):
		return Source{Kind: "github", Repo: text, Ref: ref}, nil
	}
	return Source{}, fmt.Errorf("%q is no folder (./NAME), no owner/repository and no address of a repository", text)
}

// checkURL refuses addresses that make git run a program.
func checkURL(url string) error {
	for _, scheme := range []string{"https://", "http://", "ssh://", "git@", "file://", "git://"} {
		if strings.HasPrefix(url, scheme) && len(url) > len(scheme) && !strings.HasPrefix(url[len(scheme):], "-") {
			return nil
		}
	}
	return fmt.Errorf("%q is no address of a repository by https, ssh or file", url)
}

// readMarket reads the list of a marketplace in its folder.
func readMarket(root string) (*Market, error) {
	for _, name := range marketplaces {
		file := filepath.Join(root, filepath.FromSlash(name))
		data, err := readInside(root, file)
		if err != nil {
			continue
		}
		m, err := parseMarket(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m.Root = root
		return m, nil
	}
	return nil, fmt.Errorf("%s is no marketplace: it has no %s", root, marketplaceFile)
}

func parseMarket(data []byte) (*Market, error) {
	m := &Market{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, err
	}
	if err := CheckName(m.Name); err != nil {
		return nil, err
	}
	if m.Name == Inline || m.Name == byPath || m.Name == byGit {
		return nil, fmt.Errorf("the name %q is lathe's own", m.Name)
	}
	for i, raw := range m.Raw {
		var e Entry
		err := json.Unmarshal(raw, &e)
		if err == nil {
			err = CheckName(e.Name)
		}
		if err != nil { // one bad entry does not take the others away
			m.Notes = append(m.Notes, fmt.Sprintf("the plugin %d of the marketplace %s is left out: %v", i+1, m.Name, err))
			continue
		}
		e.Raw = raw
		m.Entries = append(m.Entries, e)
	}
	return m, nil
}

// find returns an entry by name.
func (m *Market) find(name string) (Entry, bool) {
	for _, e := range m.Entries {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Present is the present name of a plugin that the marketplace renamed, maybe more than once, and whether it did. The
// name is "" if the plugin was dropped or its names lead in a circle.
func (m *Market) Present(name string) (now string, renamed bool) {
	for range len(m.Renames) + 1 {
		if _, ok := m.find(name); ok {
			return name, renamed
		}
		next, ok := m.Renames[name]
		if !ok || next == nil {
			return "", renamed || ok
		}
		name, renamed = *next, true
	}
	return "", true
}

// entry returns the entry of a plugin by its present name or an earlier one.
func (m *Market) entry(name string) (Entry, error) {
	now, renamed := m.Present(name)
	if e, ok := m.find(now); ok {
		return e, nil
	}
	if renamed {
		return Entry{}, fmt.Errorf("the marketplace %s has dropped the plugin %q", m.Name, name)
	}
	return Entry{}, fmt.Errorf("the marketplace %s has no plugin %q; lathe plugin marketplace list %s shows its plugins",
		m.Name, name, m.Name)
}

// resolve makes the relative path of an entry one of the marketplace's folder.
func (m *Market) resolve(e Entry) (Source, error) {
	s := e.Source
	switch s.Kind {
	case "directory", "file": // of a stranger's list: only within the marketplace
		if filepath.IsAbs(s.Path) || strings.HasPrefix(s.Path, "~") {
			return s,
				fmt.Errorf("the plugin %s is a folder of this machine (%s); a marketplace names folders relative to itself",
					e.Name, s.Path)
		}
	case "path":
	default:
		return s, checkRemote(m, e)
	}
	if m.Root == "" {
		return s, fmt.Errorf("the plugin %s lies beside its marketplace, of which only the list was fetched; add the "+
			"repository instead", e.Name)
	}
	rel := s.Path
	if m.Meta.Root != "" && !strings.HasPrefix(rel, "./") {
		rel = path.Join(m.Meta.Root, rel)
	}
	dir, err := inside(m.Root, filepath.Join(m.Root, filepath.FromSlash(rel)))
	return Source{Kind: "directory", Path: dir}, err
}

// checkRemote refuses an entry of a marketplace from elsewhere that would clone a repository of this machine.
func checkRemote(m *Market, e Entry) error {
	if strings.HasPrefix(e.Source.URL, "file://") && !m.Here {
		return fmt.Errorf("the plugin %s is a repository of this machine (%s)", e.Name, e.Source.URL)
	}
	return nil
}

// components are the fields of an entry that complete the manifest.
func (e Entry) components() json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(e.Raw, &fields) != nil {
		return nil
	}
	for _, key := range []string{"source", "category", "tags", "dependencies"} {
		delete(fields, key)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return out
}
