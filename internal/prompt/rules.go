package prompt

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
	"github.com/lathe-dev/lathe/internal/base/glob"
)

// ruleFolders hold memory in its own files: for everything below the folder that they are in, or, with paths:
// (Claude Code), applyTo: (Copilot) or globs: (Cursor) in the YAML block at the top, for matching files only.
var ruleFolders = []struct{ dir, suffix string }{
	{".github/instructions", ".instructions.md"},
	{".claude/rules", ".md"},
	{".lathe/rules", ".md"},
}

// ruleCount is how many rule files of one folder are read.
const ruleCount = 200

// patternCount is how many patterns of one rule file count.
const patternCount = 200

// rule is memory for some files only.
type rule struct {
	Entry
	base     string // the folder that the patterns start from
	patterns []glob.Glob
}

// loadRules loads the rule files of a project folder.
func (l *loader) loadRules(dir string, of file) {
	for _, f := range ruleFolders {
		l.loadRuleFolder(filepath.Join(dir, filepath.FromSlash(f.dir)), f.suffix, dir, of)
	}
}

// loadRuleFolder loads the rule files in a folder and below it, sorted by path. Patterns start from base.
func (l *loader) loadRuleFolder(folder, suffix, base string, of file) {
	if _, err := os.Stat(folder); err != nil {
		return
	}
	var found []string
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(d.Name(), suffix) {
			found = append(found, path)
		}
		if len(found) > ruleCount {
			return filepath.SkipAll
		}
		return nil
	})
	if len(found) > ruleCount {
		l.warn("%s has more than %d rule files; the others are left out", folder, ruleCount)
		found = found[:ruleCount]
	}
	slices.Sort(found)
	for _, path := range found {
		f := of
		f.path, f.base = path, base
		l.load(f)
	}
}

// scope takes the YAML block off a rule file and returns its patterns; none: it applies everywhere.
func scope(raw []byte) (text string, patterns []string) {
	doc := frontmatter.Parse(raw)
	if always, ok := doc.Fields.Bool("alwaysApply"); ok && always {
		return doc.Body, nil
	}
	for _, key := range []string{"paths", "applyTo", "globs"} {
		for _, p := range doc.Fields.List(key) {
			var pieces []string
			for p := range strings.SplitSeq(p, ",") { // Copilot separates by commas; in braces they belong to the pattern
				pieces = joinBraces(pieces, strings.TrimSpace(p))
			}
			patterns = append(patterns, pieces...)
		}
	}
	if slices.ContainsFunc(patterns, func(p string) bool { return p == "*" || p == "**" || p == "**/*" }) {
		patterns = nil
	}
	return doc.Body, patterns
}

// joinBraces adds a piece of a list that was split at commas; one within braces goes on with the piece before it.
func joinBraces(list []string, piece string) []string {
	if n := len(list); n > 0 && strings.Count(list[n-1], "{") > strings.Count(list[n-1], "}") {
		list[n-1] += "," + piece
		return list
	}
	if piece == "" {
		return list
	}
	return append(list, piece)
}

// matches reports whether a rule applies to a file.
func (r rule) matches(path string) bool {
	rel, err := filepath.Rel(r.base, path)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	return slices.ContainsFunc(r.patterns, func(g glob.Glob) bool { return g.Match(rel) })
}

// patterns compiles the patterns of a rule file. A pattern without a slash matches names in any folder. One that cannot
// be used is a note.
func (l *loader) patterns(path string, texts []string) (out []glob.Glob) {
	if len(texts) > patternCount {
		l.warn("%s has %d patterns; the first %d count", path, len(texts), patternCount)
		texts = texts[:patternCount]
	}
	for _, text := range texts {
		p := strings.TrimPrefix(strings.TrimPrefix(text, "./"), "/")
		if !strings.Contains(p, "/") {
			p = "**/" + p
		}
		g, err := glob.Compile(p)
		if err != nil {
			l.warn("%s: its pattern %q matches no file: %v", path, oneLine(text, 100), err)
			continue
		}
		out = append(out, g)
	}
	return out
}
