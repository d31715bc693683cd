package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

func undoCommand() Command {
	return Command{
		Name: "undo", Group: groupRules, Alone: true, Args: "[count] [show|keep|take|merge|choose]",
		Help: "Take the file changes of the last step back, also those of commands",
		Doc: "`/undo 3` takes three steps back, `/undo show` only shows the difference. A file that somebody else changed " +
			"since stays as it is, unless you " +
			"choose: `keep` theirs, `take` the state before the step, `merge` both, or `choose` for each file. `/redo` " +
			"brings everything back. The conversation stays as it is; `/rewind` takes " +
			"both back. `/undo --stash [all|restore]` puts all uncommitted changes, yours too, into git's stash, or takes " +
			"them out again. See docs/undo.md.",
		Complete: oneOf("show", "keep", "take", "merge", "choose", "--stash"),
		Run:      undo,
	}
}

func redoCommand() Command {
	return Command{
		Name: "redo", Group: groupRules, Alone: true, Args: "[show|keep|take|merge|choose]",
		Help:     "Bring back what the last /undo took back",
		Doc:      "After another step there is nothing to redo. The words are those of `/undo`.",
		Complete: oneOf("show", "keep", "take", "merge", "choose"),
		Run: func(_ context.Context, h *Host, args string) (event.Output, error) {
			o, err := readUndo(args)
			if err != nil {
				return event.Output{}, err
			}
			history, err := h.history()
			if err != nil {
				return event.Output{}, err
			}
			plan, err := history.Redo()
			if err != nil {
				return event.Output{}, err
			}
			return restore(h, plan, o, "redo")
		},
	}
}

// undoing are the arguments of /undo and /redo.
type undoing struct {
	count  int
	show   bool
	choice snapshot.Choice // empty: ask
	each   bool            // ask about every file
	chosen string          // the answers so far, see choiceLetters
}

func readUndo(args string) (undoing, error) {
	o := undoing{count: 1}
	for _, word := range strings.Fields(args) {
		n, err := number(word, 1)
		switch {
		case word == "show":
			o.show = true
		case slices.Contains([]string{"keep", "take", "merge"}, word):
			o.choice = snapshot.Choice(word)
		case word == chooseWord:
			o.each = true
		case strings.HasPrefix(word, chooseWord+":"):
			o.each, o.chosen = true, strings.TrimPrefix(word, chooseWord+":")
			if strings.Trim(o.chosen, "ktm") != "" {
				return o, fmt.Errorf("%s: takes one letter per file: k (keep), t (take) or m (merge)", chooseWord)
			}
		case err == nil:
			o.count = n
		default:
			return o, fmt.Errorf("%q is neither a number of steps nor show, keep, take, merge or choose", word)
		}
	}
	return o, nil
}

func undo(ctx context.Context, h *Host, args string) (event.Output, error) {
	if rest, ok := strings.CutPrefix(args, "--stash"); ok {
		return stash(ctx, h, strings.TrimSpace(rest))
	}
	o, err := readUndo(args)
	if err != nil {
		return event.Output{}, err
	}
	history, err := h.history()
	if err != nil {
		return event.Output{}, fmt.Errorf("%w; /undo --stash puts all uncommitted changes into git's stash", err)
	}
	plan, err := history.Undo(o.count)
	if err != nil {
		return event.Output{}, err
	}
	return restore(h, plan, o, "undo "+fmt.Sprint(o.count))
}

// restore shows or applies a plan. Where somebody else changed files since and no choice was made, it returns the
// choices.
func restore(h *Host, plan *snapshot.Plan, o undoing, again string) (event.Output, error) {
	if o.show {
		return text("%s%s%s%s", running(h), uncovered(h), coverage(h), planned(plan)), nil
	}
	if len(plan.Files) == 0 {
		return text("No file changes: all are as they were before the step."), nil
	}
	choose := func(snapshot.PlannedFile) snapshot.Choice { return o.choice }
	switch n := len(plan.Conflicts()); {
	case n > 0 && o.choice == "" && !o.each:
		return event.Output{Pick: conflictPick(plan, again)}, nil
	case o.each && len(o.chosen) < n:
		return event.Output{Pick: nextChoice(plan, o.chosen, again)}, nil
	case o.each && len(o.chosen) > n:
		return event.Output{}, fmt.Errorf("%s: somebody else changed other files meanwhile; choose again", again)
	case o.each:
		choose = byLetters(plan, o.chosen)
	}
	out, err := plan.Apply(choose)
	if err != nil {
		return event.Output{}, err
	}
	return text("%s%s%s", running(h), uncovered(h), outcome(plan, out)), nil
}

// uncovered names the folders in which the changes of commands are not kept.
func uncovered(h *Host) string {
	history, err := h.history()
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, root := range history.Store.Uncovered() {
		fmt.Fprintf(&b, "The changes of commands are not covered in %s.\n\n", code(root))
	}
	return b.String()
}

// coverage says which files of the working folders undo covers from now on.
func coverage(h *Host) string {
	history, err := h.history()
	if err != nil {
		return ""
	}
	return "In the working folders " + history.Store.Coverage(context.Background(), nil).String() + ".\n\n"
}

// conflictPick asks about the files that somebody else changed.
func conflictPick(plan *snapshot.Plan, command string) *event.Pick {
	var names []string
	for _, f := range plan.Conflicts() {
		names = append(names, plan.Rel(f))
	}
	pick := &event.Pick{
		Title: fmt.Sprintf("Somebody else changed %s since: %s", plural(len(names), "of the files"),
			short(strings.Join(names, ", "), 100)), Command: command,
		Items: []event.PickItem{
			{ID: "keep", Label: "Keep theirs", Detail: "the other files change", Preview: planned(plan)},
			{ID: "merge", Label: "Merge", Detail: "their changes stay, those of the steps go; a file with conflicts stays as " +
				"it is", Preview: planned(plan)},
			{ID: "take", Label: "Take the state before", Detail: "theirs is kept: /redo brings it back", Preview: planned(plan)},
		},
	}
	if len(names) > 1 {
		pick.Items = append(pick.Items, event.PickItem{ID: chooseWord, Label: "Choose file by file"})
	}
	return pick
}

// running names the commands in the background, which may go on changing files.
func running(h *Host) string {
	var names []string
	for _, t := range tasksOf(h.Session()) {
		if t.Running {
			names = append(names, code(t.ID+" "+short(t.Title, 60)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Still running in the background: " + strings.Join(names, ", ") + ".\n\n"
}

// mostDiff limits the diff that is shown, in bytes.
const mostDiff = 64 << 10

// planned lists what a plan would change, with a diff.
func planned(plan *snapshot.Plan) string {
	var list, diff strings.Builder
	for _, f := range plan.Files {
		d := plan.Diff(f)
		note := ""
		switch {
		case f.Blocked != "":
			note = ": stays, " + f.Blocked
		case f.Foreign:
			note = ": changed by somebody else since"
		}
		fmt.Fprintf(&list, "- %s +%d -%d%s\n", code(d.Path), d.Added, d.Removed, note)
		if diff.Len() < mostDiff {
			diff.WriteString(d.Text)
		}
	}
	if list.Len() == 0 {
		return "No file would change: all are as they were before the step."
	}
	return list.String() + "\n" + fenced("diff", diff.String())
}

// outcome says what an applied plan did.
func outcome(plan *snapshot.Plan, out snapshot.Outcome) string {
	var titles []string
	for _, s := range plan.Steps {
		if s.Title != "" {
			titles = append(titles, code(short(s.Title, 80)))
		}
	}
	var b strings.Builder
	back := "/redo brings it back"
	switch plan.Kind {
	case snapshot.Redo:
		back = "/undo takes it back"
		if plan.Kept() {
			back = "/tree files takes it back" // its steps are on a branch that is not in front
		}
	case snapshot.Switch:
		back = "/redo takes it back"
	}
	fmt.Fprintf(&b, "%s changed", plural(len(out.Changed), "file"))
	if len(titles) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(titles, ", "))
	}
	fmt.Fprintf(&b, "; %s.\n", back)
	for i, c := range out.Changed {
		if i == 20 {
			fmt.Fprintf(&b, "\n- and %d more", len(out.Changed)-i)
			break
		}
		fmt.Fprintf(&b, "\n- %s", code(plan.Rel(snapshot.PlannedFile{Path: c.Path})))
	}
	for _, f := range out.Left {
		fmt.Fprintf(&b, "\n- %s stays as it is: %s", code(plan.Rel(f)), f.Blocked)
	}
	return b.String()
}

// rewindFiles plans to take back all that was done to files since a message; nil when nothing was.
func rewindFiles(h *Host, log *session.Session, message string) (*snapshot.Plan, error) {
	history, err := h.history()
	if errors.Is(err, checkpoint.ErrOff) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	plan, err := history.Since(checkpoint.Since(log, message))
	if errors.Is(err, snapshot.ErrNothing) || err == nil && len(plan.Files) == 0 {
		return nil, nil
	}
	return plan, err
}

func stash(ctx context.Context, h *Host, args string) (event.Output, error) {
	switch args {
	case "":
		return stashPlan(ctx, h)
	case "all":
		s, err := h.stashAll(ctx)
		if err != nil {
			return event.Output{}, err
		}
		if s.Total == 0 {
			return text("There are no uncommitted changes in %s.", code(s.Root)), nil
		}
		return text("%s put into git's stash (%s). /undo --stash restore takes them back; so does: git stash apply %s",
			plural(s.Total, "changed path"), code(s.Ref), s.Ref), nil
	case "restore":
		s, err := h.unstash(ctx)
		if err != nil {
			return event.Output{}, err
		}
		return text("The changes are back (%s). The stash keeps its copy until you drop it.", code(s.Ref)), nil
	}
	return event.Output{}, fmt.Errorf("/undo --stash takes nothing, all or restore; not %q", args)
}

func stashPlan(ctx context.Context, h *Host) (event.Output, error) {
	s, err := h.uncommitted(ctx)
	if err != nil {
		return event.Output{}, err
	}
	if s.Total == 0 {
		return text("There are no uncommitted changes in %s.", code(s.Root)), nil
	}
	list := fenced("", strings.Join(s.Files, "\n"))
	return event.Output{Pick: &event.Pick{
		Title: fmt.Sprintf("Put %s of %s into git's stash, yours and lathe's alike?", plural(s.Total, "changed path"),
			s.Root),
		Command: "undo --stash",
		Items: []event.PickItem{{
			ID: "all", Label: "Put all of them into the stash",
			Detail: "/undo --stash restore takes them back", Preview: list,
		}},
	}}, nil
}

// diffSteps shows what the session's steps changed, or what others did between them.
func diffSteps(h *Host, theirs bool) (event.Output, error) {
	history, err := h.history()
	if err != nil {
		return event.Output{}, err
	}
	list, err := history.Steps()
	if theirs {
		list, err = history.Theirs()
	}
	if err != nil {
		return event.Output{}, err
	}
	return event.Output{Text: diffOf(history.Store, snapshot.Joined(list))}, nil
}

// diffOf lists changes with a diff.
func diffOf(store *snapshot.Store, changes []snapshot.Change) string {
	var b, diff strings.Builder
	for _, c := range changes {
		d := store.Diff(c)
		fmt.Fprintf(&b, "- %s +%d -%d\n", code(d.Path), d.Added, d.Removed)
		if diff.Len() < mostDiff {
			diff.WriteString(d.Text)
		}
	}
	if b.Len() == 0 {
		return "No covered file was changed."
	}
	return b.String() + "\n" + fenced("diff", diff.String())
}

// diffAgents shows what each agent of the conversation changed.
func diffAgents(h *Host) (event.Output, error) {
	history, err := h.history()
	if err != nil {
		return event.Output{}, err
	}
	agents, err := history.Agents()
	if err != nil {
		return event.Output{}, err
	}
	if len(agents) == 0 {
		return text("No covered file was changed."), nil
	}
	var b strings.Builder
	for _, a := range agents {
		name := "The main agent"
		if a.Agent != "" {
			name = "The agent " + code(a.Agent)
		}
		fmt.Fprintf(&b, "**%s**\n\n%s\n\n", name, diffOf(history.Store, a.Changes))
	}
	return event.Output{Text: b.String()}, nil
}

// diffBranches shows the way from one branch of the conversation to another: from the one in front where one message is
// named.
func diffBranches(h *Host, names []string) (event.Output, error) {
	if len(names) > 2 {
		return event.Output{}, errors.New("/diff takes all, agents, theirs or git, or one or two messages")
	}
	history, err := h.history()
	if err != nil {
		return event.Output{}, err
	}
	changes, err := checkpoint.Between(history, h.Session().Log(), names)
	if err != nil {
		return event.Output{}, fmt.Errorf("/diff takes all, agents, theirs or git, or messages: %w", err)
	}
	return event.Output{Text: diffOf(history.Store, changes)}, nil
}
