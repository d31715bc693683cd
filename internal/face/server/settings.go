package server

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
)

// Settings are those of a folder. Secrets are masked.
type Settings struct {
	Version string    `json:"version" jsonschema:"changes with every change"`
	Values  []Setting `json:"values"`
}

// Setting is a value and where it comes from.
type Setting struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
	Layer  string          `json:"layer" jsonschema:"default, organization, user, project, local, environment, flag or managed"`
	Origin string          `json:"origin" jsonschema:"the file with its line, the variable or the flag"`
	Secret bool            `json:"secret,omitempty" jsonschema:"the value is masked"`
}

type settingsQuery struct {
	Dir string `json:"-" query:"dir" doc:"the folder; without, only the user's own settings count"`
}

// settingsIn loads the settings of a folder.
func (s *Server) settingsIn(who Principal, dir string) (*config.Config, error) {
	if dir == "" {
		dir = s.Folder // no project is there
	} else if !who.May(Admin) && !s.known(dir) {
		return nil, forbidden("no session worked in "+dir+" yet", "GET /v1/projects lists folders")
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() || !filepath.IsAbs(dir) {
		return nil, notFound("there is no folder "+dir, "GET /v1/projects lists folders")
	}
	c, err := config.Load(config.Options{Dir: dir})
	if err != nil {
		return nil, problem(http.StatusUnprocessableEntity, "settings", "The settings cannot be read", err.Error(),
			"mend the file that the detail names")
	}
	return c, nil
}

func settingsOf(c *config.Config) (out Settings) {
	out.Version, out.Values = c.Digest(), []Setting{}
	for _, v := range c.Explain() {
		out.Values = append(out.Values, Setting{
			Key: v.Path, Value: v.JSON, Layer: v.Origin.Layer.String(), Origin: v.Origin.String(), Secret: v.Secret,
		})
	}
	return out
}

func readSettings(s *Server, c *call, q settingsQuery) (Settings, error) {
	now, err := s.settingsIn(c.who, q.Dir)
	if err != nil {
		return Settings{}, err
	}
	return settingsOf(now), nil
}

func sessionSettings(s *Server, c *call, q named) (Settings, error) {
	x, err := s.session(q.ID)
	if err != nil {
		return Settings{}, err
	}
	return readSettings(s, c, settingsQuery{x.Dir})
}

// SettingsWrite changes a setting.
type SettingsWrite struct {
	settingsQuery
	Key     string          `json:"key" jsonschema:"dotted; with + at its end a list gets one value more"`
	Value   json.RawMessage `json:"value,omitempty" jsonschema:"none: the key is removed"`
	Scope   string          `json:"scope,omitempty" jsonschema:"the file: user (or empty), project or local"`
	Version string          `json:"version" jsonschema:"as it was read: the write is refused if the settings changed since"`
}

func writeSettings(s *Server, by *call, w SettingsWrite) (Settings, error) {
	defer s.waking.lock("settings")()
	c, err := s.settingsIn(by.who, w.Dir)
	if err != nil {
		return Settings{}, err
	}
	if c.Digest() != w.Version {
		return Settings{}, problem(http.StatusPreconditionFailed, "changed", "The settings changed since they were read", "",
			"read them again, and write with the version that is there now")
	}
	layer, err := config.ParseScope(w.Scope)
	if err == nil {
		if len(w.Value) == 0 || string(w.Value) == "null" {
			err = c.Unset(w.Key, layer)
		} else {
			err = c.Set(w.Key, plainText(w.Value), layer)
		}
	}
	if err != nil {
		return Settings{}, problem(http.StatusUnprocessableEntity, "settings", "The setting cannot be written", err.Error(),
			"change what the detail names")
	}
	return readSettings(s, by, w.settingsQuery)
}

// plainText is a JSON string as text, and any other value as it is: the form that a key takes.
func plainText(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return strings.TrimSpace(string(v))
}
