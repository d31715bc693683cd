package config

import (
	"fmt"
	"slices"
	"strings"
)

// waiting are the documents of the values that are held back.
func (l *loader) waiting() []*node {
	if l.trusted {
		return nil
	}
	return l.later
}

// decideTrust lists the held values and asks whether to apply them.
func (l *loader) decideTrust() {
	var all []byte
	for _, doc := range l.later {
		for _, v := range leaves(doc, nil) {
			if p, err := parsePath(v.Path); err == nil && rootSchema().knows(p) {
				l.held = append(l.held, v)
				all = fmt.Appendf(all, "%s\x00%s\x00%s\x00", v.Origin.Layer, v.Path, v.JSON)
			}
		}
	}
	settings := len(l.held)
	l.holdTools()
	for _, v := range l.held[settings:] {
		all = fmt.Appendf(all, "%s\x00%s\x00%s\x00", v.Origin.Layer, v.Path, v.JSON)
	}
	if len(l.held) == 0 {
		return
	}
	l.heldDigest = digest(all)
	if l.opts.Trust != nil {
		l.trusted = l.opts.Trust(l.paths.Root, l.heldDigest)
	} else {
		l.trusted = l.paths.remembersTrust(l.heldDigest)
	}
	if !l.trusted {
		l.warnHeld()
	}
}

// TrustRemedy is what makes held values count.
const TrustRemedy = "Start with --trust to let them count for this run, or run lathe config trust to trust the folder"

// warnHeld warns once per file of its held values.
func (l *loader) warnHeld() {
	keys := map[string][]string{}
	var order []string
	for _, v := range l.held {
		file := v.Origin.File
		if keys[file] == nil {
			order = append(order, file)
		}
		if key := shortKey(v.Path); !slices.Contains(keys[file], key) {
			keys[file] = append(keys[file], key)
		}
	}
	for _, file := range order {
		layer := l.held[slices.IndexFunc(l.held, func(v Value) bool { return v.Origin.File == file })].Origin.Layer
		l.warn(Warning{
			Origin: Origin{Layer: layer, File: file},
			Text:   strings.Join(keys[file], ", ") + ": held back until you trust this folder (lathe config trust)",
			Held:   strings.Join(keys[file], ", "),
		})
	}
}

// shortKey shortens a path to the setting's name: two parts within permissions and bash, else one.
func shortKey(path string) string {
	p, err := parsePath(path)
	if err != nil {
		return path
	}
	if len(p) > 1 && (p[0] == "permissions" || p[0] == "bash") {
		return p[:2].String()
	}
	return p[:1].String()
}
