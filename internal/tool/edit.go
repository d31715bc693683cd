package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed edit.md
var editDescription string

type editInput struct {
	FilePath   string `json:"file_path"` // empty in the list of MultiEdit
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

type editor struct{ env *Files }

var editTool = call.Declaration{
	Name: "Edit",
	Aliases: []string{
		"edit_file", "str_replace", "str_replace_editor", "str_replace_based_edit_tool", "replace", "search_replace",
		"search_and_replace", "replace_in_file", "replace_string_in_file", "text_editor", "file_editor",
		"single_find_and_replace", "replace_file_content",
	},
	Input: schemaOf[editInput](),
	Params: map[string]string{
		"file_path":   fileAliases,
		"old_string":  "old_str old_text old search find target_content before",
		"new_string":  "new_str new_text new replace replacement replacement_content after",
		"replace_all": "all allow_multiple",
	},
	Ignored: "expected_replacements=1 start_line end_line description display_description code_markdown_language" +
		" target_lint_error_ids mode=edit",
	Mend:    mendEdit,
	Subject: permission.SubjectEdit, SubjectIn: []string{"file_path"}, Class: permission.ClassWrite,
	Accesses: call.Typed(editAccesses),
}

func editAccesses(in editInput, at call.Place) ([]permission.Access, error) {
	return pathAccess(permission.Write, in.FilePath, at)
}

func newEdit(env *Files) agent.Tool {
	return newTool(editTool, editDescription, (&editor{env}).prepare)
}

// edit is one call of Edit.
type edit struct {
	*change
	in      editInput
	regions []files.Region // of the view of before
	old     string         // as it was found
	new     string         // as it is put there
	lines   []int          // where the regions begin, in the new content
	rebased bool           // another edit of the same reply came first
	note    string         // for the model, where old_string was not found exactly
}

func (t *editor) prepare(ctx context.Context, _ llm.ToolCall, in editInput) (*agent.Plan, error) {
	e := &edit{in: in}
	if err := e.check(); err != nil {
		return nil, err
	}
	c, err := t.env.change("edit", in.FilePath)
	if err != nil {
		return nil, err
	}
	c.fromEditor(ctx)
	e.change = c
	if err := e.decide(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c.plan(in.FilePath, e.run)
}

// check refuses an edit that could change nothing.
func (e *edit) check() error {
	if e.in.OldString == e.in.NewString {
		return errors.New("No changes to make: old_string and new_string are exactly the same. If the file has the new " +
			"text already, go on")
	}
	return nil
}

// decide computes the new content.
func (e *edit) decide(ctx context.Context) error {
	if e.info == nil && e.in.OldString != "" {
		return missingError(ctx, e.env, "edit", e.path)
	}
	if len(e.before) == 0 && e.in.OldString == "" {
		e.new, e.after, e.whole = e.in.NewString, []byte(e.in.NewString), &e.in.NewString
		e.regions = []files.Region{{}}
		e.diff, e.hunks = diffTexts(e.path.Lexical, "", e.in.NewString)
		e.diff.Created = e.info == nil
		return nil
	}
	if err := e.env.knows(e.change, false); err != nil {
		return err
	}
	return e.compute(files.Decode(e.before))
}

// compute finds the text and replaces it.
func (e *edit) compute(text *files.Text) error {
	if e.in.OldString == "" {
		return fmt.Errorf(
			"old_string is empty, but %s has content. Give the text to replace, or use Write to replace it all", e.path.Lexical)
	}
	e.old, e.new = asViewed(text, e.in.OldString), asViewed(text, e.in.NewString)
	if e.regions = occurrences(text.View, e.old); len(e.regions) == 0 {
		if alt := strings.ReplaceAll(e.old, "\r\n", "\n"); alt != e.old {
			e.old, e.new = alt, strings.ReplaceAll(e.new, "\r\n", "\n")
			e.regions = occurrences(text.View, e.old)
		}
	}
	e.note = ""
	if len(e.regions) == 0 && e.old != e.new {
		if g, ok := alike(text.View, e.old, e.new); ok {
			e.regions, e.note = []files.Region{g.region}, g.note(text.View)
			e.old, e.new = text.View[g.region.Start:g.region.End], g.new
			if e.old == e.new {
				return fmt.Errorf("%s has new_string already, but for %s. If that does not matter go on; else give old_string "+
					"as the file has it (Read shows it)", e.path.Lexical,
					strings.TrimPrefix(g.why, "where the text is alike except for "))
			}
		}
	}
	switch {
	case e.old == e.new:
		return errors.New("old_string and new_string differ only in line ends, which Edit keeps as they are; use Bash " +
			"(dos2unix, sed) to convert them")
	case len(e.regions) == 0:
		return e.missed(text.View)
	case len(e.regions) > 1 && !e.in.ReplaceAll:
		return e.ambiguous(text.View)
	}
	e.lines = lineNumbers(text.View, e.regions)
	for i := range e.lines {
		e.lines[i] += i * (strings.Count(e.new, "\n") - strings.Count(e.old, "\n"))
	}
	var err error
	if e.after, err = text.Replace(e.regions, e.new); err != nil {
		return fmt.Errorf("cannot edit %s: %w", e.path.Lexical, err)
	}
	e.diff, e.hunks = diffRegions(e.path.Lexical, text.View, e.regions, e.new)
	return nil
}

// missed explains that the text is not there. Where the model itself has changed the file since it was read, its own
// edit may be the reason.
func (e *edit) missed(view string) error {
	err := notFound(e.path.Lexical, view, e.old)
	if e.rebased {
		return fmt.Errorf("an earlier Edit of the same reply has changed the file. %w", err)
	}
	return err
}

// asViewed writes the model's text the way the view has it: in a file with CRLF line ends they are \n.
func asViewed(text *files.Text, s string) string {
	if text.CRLF > 0 {
		return strings.ReplaceAll(s, "\r\n", "\n")
	}
	return s
}

func occurrences(s, old string) []files.Region {
	out := make([]files.Region, 0, strings.Count(s, old)) // a file of one line may have a million
	for at := 0; ; {
		i := strings.Index(s[at:], old)
		if i < 0 {
			return out
		}
		out = append(out, files.Region{Start: at + i, End: at + i + len(old)})
		at += i + len(old)
	}
}

func (e *edit) ambiguous(view string) error {
	return fmt.Errorf("Found %d matches of old_string in %s, at %s, but replace_all is false. To change one of them, add "+
		"surrounding lines to old_string; to change all, set replace_all to true",
		len(e.regions), e.path.Lexical, listed(lineNumbers(view, e.regions)))
}

// listed writes line numbers with their noun, the first twenty of them.
func listed(lines []int) string {
	var at []string
	lines = slices.Compact(slices.Clone(lines))
	for _, n := range lines[:min(len(lines), 20)] {
		at = append(at, strconv.Itoa(n))
	}
	if len(lines) > 20 {
		at = append(at, "...")
	}
	if len(lines) == 1 {
		return "line " + at[0]
	}
	return "lines " + strings.Join(at, ", ")
}

// lineNumbers is the line on which each region starts.
func lineNumbers(view string, regions []files.Region) []int {
	out := make([]int, len(regions))
	line, at := 1, 0
	for i, g := range regions {
		line += strings.Count(view[at:g.Start], "\n")
		at = g.Start
		out[i] = line
	}
	return out
}

func (e *edit) run(ctx context.Context) (*agent.Result, error) {
	if err := e.rebase(); err != nil {
		return nil, err
	}
	notes, err := e.apply(ctx)
	if err != nil {
		return nil, err
	}
	what := ""
	switch {
	case len(e.lines) == 1:
		what = " at " + listed(e.lines)
	case len(e.lines) > 1:
		what = fmt.Sprintf(": %d replacements, at %s", len(e.lines), listed(e.lines))
	}
	text := e.done(what) + notes + e.note
	if e.rebased { // else the model knows the result: its own text in place of the old
		text += e.snippet()
	}
	r := agent.TextResult(text)
	r.Title, r.View = e.env.Rel(e.path.Lexical), e.diff
	r.Meta = map[string]any{
		"filePath": e.path.Lexical, "oldString": e.in.OldString, "newString": e.in.NewString,
		"originalFile": e.original(), "structuredPatch": e.patch(), "userModified": false, "replaceAll": e.in.ReplaceAll,
	}
	r.Unstored = []string{"originalFile"}
	return r, nil
}

// rebase checks that the file is as Prepare saw it. When it is not, but the model itself made the change
// (an earlier edit of the same reply ran meanwhile), the same replacement is made in the new content.
func (e *edit) rebase() error {
	err := e.settle()
	if err == nil || !errors.Is(err, files.ErrChanged) {
		return err
	}
	data, info, readErr := e.target.Read(writeMax)
	if readErr != nil {
		return pathError("edit", e.path, readErr)
	}
	if seen, ok := e.env.Reads.Get(e.path.Real); !ok || !seen.Written || seen.Hash != HashOf(data) {
		return err
	}
	e.before, e.info, e.rebased = data, info, true
	return e.compute(files.Decode(data))
}

// How much of the changed file a result shows.
const (
	snippetContext = 3
	snippetLines   = 24 // of one place
	snippetPlaces  = 3
)

// snippet shows the changed places with line numbers, as the file has them now.
func (e *edit) snippet() string {
	if e.diff.Created || len(e.hunks) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(" It now has:\n")
	for i, h := range e.hunks {
		if i == snippetPlaces {
			fmt.Fprintf(&b, "[%d more places]\n", len(e.hunks)-i)
			break
		}
		showHunk(&b, h)
	}
	return b.String()
}

// showHunk writes the new lines of a hunk.
func showHunk(b *strings.Builder, h event.Hunk) {
	var lines []string
	for _, l := range h.Lines {
		if l[0] != '-' {
			lines = append(lines, clip(l[1:]))
		}
	}
	if len(lines) > snippetLines {
		number(b, h.NewStart, lines[:snippetLines/2])
		fmt.Fprintf(b, "   ...\n")
		number(b, h.NewStart+len(lines)-snippetLines/2, lines[len(lines)-snippetLines/2:])
		return
	}
	number(b, h.NewStart, lines)
}

// clip cuts a long line of a snippet.
func clip(line string) string {
	if len(line) <= 300 {
		return line
	}
	return cutLine(line, 300) + "…"
}
