package program

// What makes a program that lists files leave out those of these names, wherever they lie.

// PathspecsWithout are words for git, behind all others.
func PathspecsWithout(files, folders []string) []string { return exceptPathspecs(files, folders) }

// GlobsWithout are flags for ripgrep, behind its other globs.
func GlobsWithout(files, folders []string) []string {
	return exceptBy("--glob=!", "--glob=!")(files, folders)
}

// TestsWithout are tests for find, before its expression in brackets.
func TestsWithout(files, folders []string) []string {
	var out []string
	for _, name := range files {
		out = append(out, "!", "-name", globEscape.Replace(name))
	}
	for _, name := range folders {
		name = globEscape.Replace(name)
		out = append(out, "!", "-path", "*/"+name+"/*", "!", "-path", name+"/*")
	}
	return out
}
