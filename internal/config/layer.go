package config

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Layer is a source of values. A higher layer wins over a lower one.
type Layer int

// The layers, lowest first.
const (
	Default      Layer = iota
	Organization       // the document at organizationUrl
	User               // ~/.claude/settings.json, below $XDG_CONFIG_HOME/lathe/settings.json
	Project            // .claude/settings.json, below .lathe/settings.json
	Local              // .claude/settings.local.json, below .lathe/settings.local.json
	Environment        // variables of the process
	SettingsEnv        // variables in the env object of the user's, --settings' and managed files
	Flags              // --settings, then single flags
	Managed            // policy of the machine's administrator
)

var layerNames = [...]string{
	"default", "organization", "user", "project", "local", "environment", "settings env", "flag", "managed",
}

// String returns the layer's name in messages and in `config show --origin`.
func (l Layer) String() string {
	if l < 0 || int(l) >= len(layerNames) {
		return "layer " + strconv.Itoa(int(l))
	}
	return layerNames[l]
}

// ParseScope parses the name of a layer that Set can write: user, project or local; "" is user.
func ParseScope(name string) (Layer, error) {
	switch name {
	case "", "user":
		return User, nil
	case "project":
		return Project, nil
	case "local":
		return Local, nil
	}
	return Default, &Error{Text: "there is no scope " + strconv.Quote(name), Hint: "choose user, project or local"}
}

// MarshalText writes the layer's name.
func (l Layer) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// inProject reports the layers that a repository can write.
func (l Layer) inProject() bool { return l == Project || l == Local }

// Origin is the place where a value was set. Line and Column start at 1 and count characters; they are 0
// where there is no file.
type Origin struct {
	Layer  Layer  `json:"layer"`
	File   string `json:"file,omitempty"` // absolute, or the URL of the organisation's document
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Name   string `json:"name,omitempty"` // of the environment variable or the flag
}

// String formats the origin for people: "/home/u/.config/lathe/settings.json:3:12", "environment
// ANTHROPIC_MODEL", "flag --model", "default".
func (o Origin) String() string {
	place := o.File
	if o.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
	}
	switch {
	case o.Layer == SettingsEnv && o.Name != "":
		return "env " + o.Name + " in " + printable(place)
	case o.Name != "" && o.File == "":
		return o.Layer.String() + " " + printable(o.Name)
	case place == "":
		return o.Layer.String()
	}
	return printable(place)
}

// source is one text that values are read from. Nodes keep an offset into it, and lines are counted only on
// request.
type source struct {
	layer   Layer
	file    string // as Origin.File
	name    string // as Origin.Name
	data    []byte
	dir     string // base of relative paths in {file:}
	base    string // base of relative paths in path-valued keys
	foreign bool   // another program's file: mistakes in it are warnings
}

func (s *source) origin(off int) Origin {
	o := Origin{Layer: s.layer, File: s.file, Name: s.name}
	if s.data == nil || off < 0 {
		return o
	}
	off = min(off, len(s.data))
	head := s.data[:off]
	o.Line = 1 + bytes.Count(head, []byte("\n"))
	o.Column = 1 + utf8.RuneCount(head[bytes.LastIndexByte(head, '\n')+1:])
	return o
}

// printable makes foreign text safe for a terminal: unprintable characters are escaped as in Go.
func printable(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}
