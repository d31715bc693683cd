package tool

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
)

// result shows the matches: the same for both engines.
func (s *search) result(h *hits) *agent.Result {
	names, all, sum := []string{}, []string{}, 0
	for i, f := range h.files {
		names = append(names, s.env.showPath(f.path))
		sum += f.count
		switch s.mode {
		case modeContent:
			all = append(all, s.lines(names[i], f, i == 0)...)
		case modeCount:
			all = append(all, names[i]+":"+strconv.Itoa(f.count))
		}
	}
	if s.mode == modeFiles {
		all = names
	}
	items := s.cut(all)
	text := s.finish(items, len(all), h)
	if s.mode == modeCount && len(all) > 0 {
		text += fmt.Sprintf("Total: %d in %d files.\n", sum, len(all))
	}
	r := agent.TextResult(text)
	r.Title = s.in.Pattern
	r.View = event.Listing{
		Title: s.in.Pattern, Items: items, Total: len(all), Truncated: len(items) < len(all) || h.more,
	}
	if s.mode == modeContent {
		summary := count(len(items), "line", "lines") + " in " + count(len(names), "file", "files")
		r.View = event.TextView{Text: strings.Join(items, "\n"), Summary: summary}
	}
	r.Meta = s.meta(items, names, sum)
	return r
}

// meta is the result in Claude Code's form.
func (s *search) meta(items, names []string, sum int) map[string]any {
	meta := map[string]any{"mode": s.mode, "numFiles": len(names), "filenames": names}
	switch s.mode {
	case modeContent:
		meta["content"], meta["numLines"] = strings.Join(items, "\n"), len(items)
	case modeCount:
		meta["filenames"], meta["content"], meta["numMatches"] = s.cut(names), strings.Join(items, "\n"), sum
	default:
		meta["filenames"] = items
	}
	if s.limit > 0 {
		meta["appliedLimit"] = s.limit
	}
	if s.offset > 0 {
		meta["appliedOffset"] = s.offset
	}
	return meta
}

// cut takes the asked part of all items.
func (s *search) cut(items []string) []string {
	items = items[min(s.offset, len(items)):]
	if s.limit > 0 {
		items = items[:min(s.limit, len(items))]
	}
	return items
}

// finish adds a note on matches that are not shown, or that there are none.
func (s *search) finish(items []string, all int, h *hits) string {
	var notes []string
	switch {
	case len(items) == 0 && all == 0:
		notes = append(notes, "No matches found.")
	case len(items) == 0:
		notes = append(notes, fmt.Sprintf("There are only %d; offset %d is past the end.", all, s.offset))
	case all > s.offset+len(items) || h.more:
		last := s.offset + len(items)
		text := fmt.Sprintf("Showing %d-%d of %d. Use offset=%d to see more.", s.offset+1, last, all, last)
		if h.more {
			text = fmt.Sprintf("Showing %d-%d; there are more. Use offset=%d to see more.", s.offset+1, last, last)
		}
		notes = append(notes, text)
	}
	if h.note != "" {
		notes = append(notes, h.note)
	}
	text := strings.Join(items, "\n")
	if len(items) > 0 {
		text += "\n"
	}
	if len(notes) > 0 {
		text += "[" + strings.Join(notes, " ") + "]\n"
	}
	return text
}

// lines lists the lines of a file as ripgrep does: path:number:text, with - for lines around a match. The path is left
// out where the call names the one file.
func (s *search) lines(name string, f fileHits, first bool) (out []string) {
	for i, l := range f.lines {
		gap := i == 0 && !first || i > 0 && l.num > f.lines[i-1].num+1
		if gap && s.before+s.after > 0 {
			out = append(out, "--")
		}
		out = append(out, s.line(name, l))
	}
	return out
}

func (s *search) line(name string, l hitLine) string {
	mark := ":"
	if !l.match {
		mark = "-"
	}
	start := name + mark
	if s.oneFile() {
		start = ""
	}
	if s.numbers {
		return start + strconv.Itoa(l.num) + mark + l.text
	}
	return start + l.text
}

// oneFile reports whether the call names a file, not a folder.
func (s *search) oneFile() bool { return s.start.Info != nil && !s.start.Info.IsDir() }
