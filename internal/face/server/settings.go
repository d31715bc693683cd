package server

import "context"

// Settings are those of a folder.
type Settings interface {
	// Read returns the settings with their origins.
	Read(ctx context.Context, dir string) (SettingsOf, error)
	// Write changes one key in the user's settings, if they are still as they were read.
	Write(ctx context.Context, dir string, w SettingsWrite) (SettingsOf, error)
}

// SettingsOf are the settings of a folder.
type SettingsOf struct {
	Version string    `json:"version"`
	Values  []Setting `json:"values"`
}

// Setting is a value and where it comes from.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// SettingsWrite changes a setting.
type SettingsWrite struct {
	Key     string `json:"key"`
	Value   any    `json:"value,omitempty" jsonschema:"none: the key is removed"`
	Version string `json:"version" jsonschema:"as it was read; refused when the settings changed since"`
}
