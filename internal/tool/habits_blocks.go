package tool

import (
	"encoding/json"
	"slices"
	"strings"
)

// blocksAsEdits makes edits of blocks with SEARCH and REPLACE: those of Roo and aider (<<<<<<< SEARCH, >>>>>>> REPLACE), and of Cline
// (------- SEARCH, +++++++ REPLACE). Without a parameter for the file, the line before the first block names it, as aider has it;
// blocks of several files are left.
func blocksAsEdits(fields map[string]json.RawMessage) bool {
	text := word(fields, "diff", "patch", "content")
	if !strings.Contains(text, " SEARCH") {
		return false
	}
	list, names := searchBlocks(text)
	if list == nil {
		return false
	}
	if !slices.ContainsFunc(strings.Fields(fileAliases+" file_path"), func(n string) bool { return fields[n] != nil }) {
		if len(names) != 1 {
			return false
		}
		set(fields, "file_path", names[0])
	}
	drop(fields, "diff", "patch", "content")
	set(fields, "edits", list)
	return true
}

// searchBlocks reads blocks, and the different names of files that stand before them. It returns nil where a block is not whole.
func searchBlocks(text string) (out []editInput, names []string) {
	const (
		outside = iota
		searching
		replacing
	)
	state, before, hinted := outside, "", false
	var old, fresh strings.Builder
	for line := range strings.Lines(text) {
		mark := strings.TrimRight(line, " \r\n")
		switch {
		case state == outside && isMark(mark, "<-", "SEARCH"):
			if name := nameOf(before); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
			state = searching
			old.Reset()
			fresh.Reset()
		case state == outside:
			if mark != "" && !strings.HasPrefix(mark, "```") {
				before = mark
			}
		case state == searching && old.Len() == 0 && strings.HasPrefix(mark, ":") && strings.Contains(mark, "_line:"):
			hinted = true // Roo's hint where the text is, and its end
		case state == searching && old.Len() == 0 && hinted && mark == "-------":
			hinted = false
		case state == searching && len(mark) >= 5 && strings.Trim(mark, "=") == "":
			state = replacing
		case state == replacing && isMark(mark, ">+", "REPLACE"):
			out = append(out, editInput{OldString: strings.TrimSuffix(old.String(), "\n"), NewString: strings.TrimSuffix(fresh.String(), "\n")})
			state, before = outside, ""
		case state == searching:
			old.WriteString(line)
		default:
			fresh.WriteString(line)
		}
	}
	if state != outside {
		return nil, nil
	}
	return out, names
}

// isMark reports whether a line is at least five of one of the signs, and a word.
func isMark(line, signs, word string) bool {
	run, ok := strings.CutSuffix(strings.TrimSuffix(line, ">"), " "+word)
	return ok && len(run) >= 5 && strings.Trim(run, run[:1]) == "" && strings.Contains(signs, run[:1])
}

// nameOf is the file that a line before a block names.
func nameOf(line string) string {
	line = strings.Trim(strings.TrimSpace(line), "`*#:\"' ")
	if line == "" || strings.ContainsAny(line, " \t<>|") {
		return ""
	}
	return line
}
