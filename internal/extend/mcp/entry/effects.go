package entry

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Effect is one thing that an entry does when it is used. Its text is as the entry writes it, without the values of
// variables: foreign text.
type Effect struct{ Word, Text string }

func (f Effect) String() string { return f.Word + ": " + f.Text }

// Effects lists what an entry runs, reaches, sends and takes from the environment, so that a person can decide on it.
// An entry that lathe could not use is an error.
func Effects(raw json.RawMessage) ([]Effect, error) {
	e := Entry{Raw: raw, Scope: Project}
	if err := json.Unmarshal(raw, &e.Fields); err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	return e.Effects(), nil
}

// Foreign reports whether somebody else than the user or the administrator wrote the entry.
func (e *Entry) Foreign() bool { return e.Scope == Project || e.Scope == Plugin }

// written are the fields without the values of variables.
func (e *Entry) written() (f Fields) {
	_ = json.Unmarshal(e.Raw, &f) // it was read before
	return f
}

// Effects is the function Effects for an entry that was read. Values that the user wrote may be secrets and are left
// out.
func (e *Entry) Effects() (out []Effect) {
	f := e.written()
	add := func(word, text string) {
		if text != "" {
			out = append(out, Effect{word, text})
		}
	}
	if f.URL == "" {
		add("runs", f.commandLine())
	}
	add("address", f.URL)
	add("works in", f.Dir)
	add("headers helper", f.HeadersHelper)
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		add("sends", name+": "+e.shown(f.Headers[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Env)) {
		add("sets", name+"="+e.shown(f.Env[name]))
	}
	add("takes", strings.Join(f.takes(), ", "))
	if o := f.OAuth; o != nil {
		add("logs in as", o.ClientID+o.ClientMetadata)
		add("logs in at", o.Metadata)
		add("key file", o.PrivateKeyFile)
		if o.Identity != nil {
			add("sends your ID token to", o.Identity.Endpoint)
		}
	}
	return out
}

// shown is a value that may be shown.
func (e *Entry) shown(value string) string {
	if e.Scope == Project || strings.Contains(value, "${") {
		return value
	}
	return "..."
}

// commandLine is the command with its arguments; one with blanks is quoted.
func (f *Fields) commandLine() string {
	words := append([]string{f.Command}, f.Args...)
	for i, w := range words {
		if w == "" && i > 0 || strings.ContainsAny(w, " \t\n\"") {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " ")
}

// takes are the variables of the environment that the entry names.
func (f *Fields) takes() (names []string) {
	note := func(name string) (string, bool) {
		names = append(names, name)
		return "", false
	}
	for _, text := range slices.Concat([]string{f.Command, f.URL, f.Dir}, f.Args, slices.Collect(maps.Values(f.Env)),
		slices.Collect(maps.Values(f.Headers))) {
		expand(text, note)
	}
	if f.OAuth != nil && f.OAuth.ClientID != "" {
		names = append(names, "MCP_CLIENT_SECRET")
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !validName(name) })
	slices.Sort(names)
	return slices.Compact(names)
}

// Describe names in one line the command or address, as the entry writes it: foreign text.
func (e *Entry) Describe() string {
	switch f := e.written(); {
	case e.Type == Stdio:
		return f.commandLine()
	case f.URL != "":
		return f.URL
	}
	return e.Type
}

// PluginServer is the entry of a plugin, with the folders that belong to the plugin.
type PluginServer struct {
	Raw        json.RawMessage
	Root, Data string // its own files, and those that it may write
	Shown      string // its name for hosts: plugin:NAME:SERVER
}
