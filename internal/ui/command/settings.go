package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// Settings reads and changes lathe's settings.
type Settings interface {
	List() []Setting // those in force, secrets masked
	// Set keeps a value in the user's settings and returns their file. The value in force may be another one.
	Set(ctx context.Context, key, value string) (file string, err error)
	// Unset removes a key from the user's settings and returns their file.
	Unset(ctx context.Context, key string) (file string, err error)
	Plugins() Plugins // those that the settings enable
}

// Setting is one value in force.
type Setting struct {
	Key    string // dotted
	Value  string // JSON, or a text without quotes
	From   string // where it was written, in words
	Secret bool   // Value is masked
}

func settingCommands() []Command {
	return []Command{
		{
			Name: "config", Aliases: []string{"settings"}, Group: groupLathe, Args: "[key [value]]",
			Help: "Show and change settings",
			Doc: "`/config KEY VALUE` keeps a value in your own settings, `/config unset KEY` removes it there. " +
				"`docs/configuration.md` lists the keys. Secrets are masked.",
			Complete: func(_ context.Context, h Host, typed string) []event.Candidate {
				var all []event.Candidate
				for _, s := range h.Settings().List() {
					all = append(all, event.Candidate{Text: s.Key, Help: short(s.Value, 60)})
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

func configure(ctx context.Context, h Host, args string) (event.Output, error) {
	key, value, _ := strings.Cut(args, " ")
	value = strings.TrimSpace(value)
	switch {
	case key == "":
		return pickSetting(h), nil
	case key == "unset" && value != "":
		file, err := h.Settings().Unset(ctx, value)
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
	file, err := h.Settings().Set(ctx, key, value)
	if err != nil {
		return event.Output{}, err
	}
	return changed(h, key, "kept in", file), nil
}

func pickSetting(h Host) event.Output {
	p := &event.Pick{
		Title: "Settings in force", Command: "config",
		Empty: "Nothing is set; /config KEY VALUE sets something",
	}
	for _, s := range h.Settings().List() {
		p.Items = append(p.Items, event.PickItem{ID: s.Key, Label: s.Key, Detail: short(s.Value, 80)})
	}
	return event.Output{Pick: p}
}

// showSetting shows a value and puts the command that changes it into the editor.
func showSetting(h Host, key string) (event.Output, error) {
	s, ok := setting(h, key)
	if !ok {
		return event.Output{}, fmt.Errorf("%s is not set; set it with: /config %s VALUE", key, key)
	}
	out := text("%s is %s (%s).", code(s.Key), code(s.Value), s.From)
	if !s.Secret { // its mask would replace it
		out.Insert = "/config " + s.Key + " " + s.Value
	}
	return out, nil
}

func setting(h Host, key string) (Setting, bool) {
	for _, s := range h.Settings().List() {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}

// changed reports a change, and the value in force when another layer decides it.
func changed(h Host, key, how, file string) event.Output {
	s, ok := setting(h, key)
	if !ok {
		return text("%s was %s %s.", code(key), how, code(file))
	}
	return text("%s was %s %s. In force: %s (%s).", code(key), how, code(file), code(s.Value), s.From)
}
