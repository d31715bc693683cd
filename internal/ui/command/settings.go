package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
)

func settingCommands() []Command {
	return []Command{
		{
			Name: "config", Aliases: []string{"settings"}, Group: groupLathe, Args: "[key [value]]",
			Help: "Show and change settings",
			Doc: "`/config KEY VALUE` keeps a value in your own settings, `/config unset KEY` removes it there. " +
				"`docs/configuration.md` lists the keys. Secrets are masked.",
			Complete: func(_ context.Context, h *Host, typed string) []event.Candidate {
				var all []event.Candidate
				for _, s := range h.Instance.Config().Explain() {
					all = append(all, event.Candidate{Text: s.Path, Help: short(valueText(s), 60)})
				}
				return choices(typed, all)
			},
			Run: configure,
		},
		{
			Name: "login", Group: groupLathe, Alone: true, Help: "Choose a provider and keep its key", Run: open("login"),
			Doc: "The key is not shown while it is pasted, is kept in your own settings (mode 0600), and is tried at once.",
		},
	}
}

func configure(ctx context.Context, h *Host, args string) (event.Output, error) {
	key, value, _ := strings.Cut(args, " ")
	value = strings.TrimSpace(value)
	switch {
	case key == "":
		return pickSetting(h), nil
	case key == "unset" && value != "":
		file, err := h.written(h.Instance.Config().Unset(value, config.User))
		if err != nil {
			return event.Output{}, err
		}
		return changed(h, value, "removed from", file), nil
	case value == "":
		return showSetting(h, key)
	}
	if key == "theme" {
		return theme(ctx, h, value) // is checked, and shows at once
	}
	file, err := h.written(h.Instance.Config().Set(key, value, config.User))
	if err != nil {
		return event.Output{}, err
	}
	return changed(h, key, "kept in", file), nil
}

func pickSetting(h *Host) event.Output {
	p := &event.Pick{
		Title: "Settings in force", Command: "config",
		Empty: "Nothing is set; /config KEY VALUE sets something",
	}
	for _, s := range h.Instance.Config().Explain() {
		p.Items = append(p.Items, event.PickItem{ID: s.Path, Label: s.Path, Detail: short(valueText(s), 80)})
	}
	return event.Output{Pick: p}
}

// showSetting shows a value and puts the command that changes it into the editor.
func showSetting(h *Host, key string) (event.Output, error) {
	s, ok := setting(h, key)
	if !ok {
		return event.Output{}, fmt.Errorf("%s is not set; set it with: /config %s VALUE", key, key)
	}
	out := text("%s is %s (%s).", code(s.Path), code(valueText(s)), s.Origin)
	if !s.Secret { // its mask would replace it
		out.Insert = "/config " + s.Path + " " + valueText(s)
	}
	return out, nil
}

func setting(h *Host, key string) (config.Value, bool) {
	for _, s := range h.Instance.Config().Explain() {
		if s.Path == key {
			return s, true
		}
	}
	return config.Value{}, false
}

// changed reports a change, and the value in force when another layer decides it.
func changed(h *Host, key, how, file string) event.Output {
	s, ok := setting(h, key)
	if !ok {
		return text("%s was %s %s.", code(key), how, code(file))
	}
	return text("%s was %s %s. In force: %s (%s).", code(key), how, code(file), code(valueText(s)), s.Origin)
}

// valueText is a value as JSON, a text without its quotes.
func valueText(v config.Value) string {
	var text string
	if json.Unmarshal(v.JSON, &text) == nil {
		return text
	}
	return string(v.JSON)
}

// written has a change of the user's settings read again, and returns their file.
func (h *Host) written(err error) (string, error) {
	if err == nil {
		err = h.reload()
	}
	return h.Instance.Config().Target(config.User), err
}

// quote writes a text as JSON.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string always has a JSON form
	return string(b)
}
