package shell

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed names.txt
var nameTable string

// lists are the lists of names.txt. They are read for the first command line.
var lists = sync.OnceValue(func() map[string][]string {
	out, name := map[string][]string{}, ""
	for line := range strings.Lines(nameTable) {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			out[name] = append(out[name], strings.Fields(line)...)
		default:
			var members string
			name, members, _ = strings.Cut(line, ":")
			out[name] = strings.Fields(members)
		}
	}
	return out
})

// names are the members of a list.
func names(list string) []string {
	members, ok := lists()[list]
	if !ok {
		panic("there is no list of " + list)
	}
	return members
}

// inList reports whether a name is in a list.
func inList(list, name string) bool { return slices.Contains(names(list), name) }

// among reports whether a name is in a list; a trailing * stands for any ending, a leading one for any beginning.
func among(name string, list ...string) bool {
	return slices.ContainsFunc(list, func(l string) bool {
		before, starts := strings.CutSuffix(l, "*")
		after, ends := strings.CutPrefix(l, "*")
		return l == name || starts && strings.HasPrefix(name, before) || ends && l != "" && strings.HasSuffix(name, after)
	})
}
