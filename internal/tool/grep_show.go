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
	var r *agent.Result
	switch s.mode {
	case modeContent:
		r = s.showContent(h)
	case modeCount:
		r = s.showCount(h)
	default:
		r = s.showFiles(h)
	}
	r.Title = s.in.Pattern
	r.Meta["mode"] = s.mode
	if s.limit > 0 {
		r.Meta["appliedLimit"] = s.limit
	}
	if s.offset > 0 {
		r.Meta["appliedOffset"] = s.offset
	}
	return r
}

// cut takes the asked part of all items.
func (s *search) cut(items []string) []string {
	from, to := s.page(len(items))
	return items[from:to]
}

// page is the part of n items that is shown.
func (s *search) page(n int) (from, to int) {
	from, to = min(s.offset, n), n
	if s.limit > 0 {
		to = min(n, from+s.limit)
	}
	return from, to
}

const noMatches = "No matches."

// finish adds a note on matches that are not shown, or that there are none.
func (s *search) finish(items []string, all int, h *hits, nothing string) string {
	var notes []string
	switch {
	case len(items) == 0 && all == 0:
		notes = append(notes, nothing)
	case len(items) == 0:
		notes = append(notes, fmt.Sprintf("There are only %d; offset %d is past the end.", all, s.offset))
	case all > s.offset+len(items) || h.more:
		last := s.offset + len(items)
		text := fmt.Sprintf("Showing %d-%d of %d. To go on: offset=%d.", s.offset+1, last, all, last)
		if h.more {
			text = fmt.Sprintf("Showing %d-%d; there are more. To go on: offset=%d.", s.offset+1, last, last)
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

// showFiles lists paths.
func (s *search) showFiles(h *hits) *agent.Result {
	from, to := s.page(len(h.files))
	items := make([]string, 0, to-from)
	for _, f := range h.files[from:to] {
		items = append(items, s.env.showPath(f.path))
	}
	all := len(h.files)
	r := agent.TextResult(s.finish(items, all, h, noMatches))
	r.View = event.Listing{Title: s.in.Pattern, Items: items, Total: all, Truncated: len(items) < all || h.more}
	r.Meta = map[string]any{"numFiles": all, "filenames": items}
	return r
}

// showCount lists paths with their numbers of matches, and the sum.
func (s *search) showCount(h *hits) *agent.Result {
	all := make([]string, len(h.files))
	names := make([]string, len(h.files))
	sum := 0
	for i, f := range h.files {
		names[i] = s.env.showPath(f.path)
		all[i] = names[i] + ":" + strconv.Itoa(f.count)
		sum += f.count
	}
	items := s.cut(all)
	text := s.finish(items, len(all), h, noMatches)
	if len(all) > 0 {
		text += fmt.Sprintf("Total: %d in %d files.\n", sum, len(all))
	}
	r := agent.TextResult(text)
	r.View = event.Listing{Title: s.in.Pattern, Items: items, Total: len(all), Truncated: len(items) < len(all) || h.more}
	r.Meta = map[string]any{
		"numFiles": len(all), "filenames": s.cut(names), "numMatches": sum, "content": strings.Join(items, "\n"),
	}
	return r
}

// showContent lists lines as ripgrep does: path:number:text, with - for lines around a match. The path is left out
// where the call names the one file.
func (s *search) showContent(h *hits) *agent.Result {
	var all, names []string
	for i, f := range h.files {
		name := s.env.showPath(f.path)
		names = append(names, name)
		for j, l := range f.lines {
			if (l.gap || j == 0 && i > 0) && s.before+s.after > 0 {
				all = append(all, "--")
			}
			all = append(all, s.line(name, l))
		}
	}
	items := s.cut(all)
	r := agent.TextResult(s.finish(items, len(all), h, noMatches))
	r.View = event.TextView{Text: strings.Join(items, "\n"), Summary: count(len(items), "line", "lines") + " in " + count(len(names), "file", "files")}
	if names == nil {
		names = []string{}
	}
	r.Meta = map[string]any{
		"numFiles": len(names), "filenames": names, "content": strings.Join(items, "\n"), "numLines": len(items),
	}
	return r
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
