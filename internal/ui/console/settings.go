package console

import (
	"context"
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

type settings struct{ c *Console }

func (s settings) List() []command.Setting {
	var out []command.Setting
	for _, v := range s.c.inst.Config().Explain() {
		value := string(v.JSON)
		var text string
		if json.Unmarshal(v.JSON, &text) == nil {
			value = text
		}
		out = append(out, command.Setting{Key: v.Path, Value: value, From: v.Origin.String(), Secret: v.Secret})
	}
	return out
}

func (s settings) Set(_ context.Context, key, value string) (string, error) {
	return s.write(s.c.inst.Config().Set(key, value, config.User))
}

func (s settings) Unset(_ context.Context, key string) (string, error) {
	return s.write(s.c.inst.Config().Unset(key, config.User))
}

// write has a change of the user's settings read again, and returns their file.
func (s settings) write(err error) (string, error) {
	if err == nil {
		_, err = s.c.inst.Reload()
	}
	return s.c.inst.Config().Target(config.User), err
}
