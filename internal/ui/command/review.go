package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/agent/review"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/worktree"
)

func reviewCommands() []Command {
	return []Command{
		{
			Name: "review", Aliases: []string{"code-review"}, Group: groupConversation, Alone: true,
			Args: "[low|medium|high|max] [target] [--fix] [--comment] [--max-findings N] [--json|--sarif]",
			Help: "Have agents review a change and check what they find",
			Doc: "The target is a commit, a branch, a range (`main..topic`), a pull request (`#12`, checked out) or paths; " +
				"without one the uncommitted changes, or else the branch. Each reviewer has one aspect and a context of its own; " +
				"another agent checks each finding and must quote the line that shows it. `--fix` has an agent mend them in a " +
				"worktree and runs the check (`eval.command`). `--comment` shows the comments for a pull request and " +
				"posts them with your `gh` or `glab` after `/review post`. `--json` and `--sarif` are for programs. " +
				"[Reviews](review.md)",
			Complete: oneOf("low", "medium", "high", "max", "post"),
			Run: func(ctx context.Context, h *Host, args string) (event.Output, error) {
				if args == "post" {
					return postReview(ctx, h)
				}
				return runReview(ctx, h, args, nil)
			},
		},
		{
			Name: "security-review", Group: groupConversation, Alone: true,
			Args: "[target] [--fix] [--comment] [--max-findings N] [--json|--sarif]",
			Help: "Review a change for its security alone", Doc: "As `/review`, with three aspects: input, access and secrets.",
			Run: func(ctx context.Context, h *Host, args string) (event.Output, error) {
				return runReview(ctx, h, args, review.Security())
			},
		},
	}
}

// reviewOrder is what /review was asked for.
type reviewOrder struct {
	aspects      []review.Aspect
	target       []string
	fix, comment bool
	most         int
	form         string // json, sarif, or empty for people
}

func readReview(args string, aspects []review.Aspect) (o reviewOrder, err error) {
	o.aspects = aspects
	words := strings.Fields(args)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--fix":
			o.fix = true
		case w == "--comment":
			o.comment = true
		case w == "--json", w == "--sarif":
			o.form = w[2:]
		case w == "--max-findings" && i+1 < len(words):
			i++
			if o.most, err = strconv.Atoi(words[i]); err != nil || o.most < 1 {
				return o, fmt.Errorf("--max-findings: %q is not a number from 1 up", words[i])
			}
		case strings.HasPrefix(w, "--"):
			return o, fmt.Errorf("/review has no option %s, or its value is missing; the options are --fix, --comment, "+
				"--max-findings N, --json and --sarif", w)
		case o.aspects == nil && review.Levels[w] != nil && len(o.target) == 0:
			o.aspects = review.Levels[w]
		default:
			o.target = append(o.target, w)
		}
	}
	if o.aspects == nil {
		o.aspects = review.Levels["medium"]
	}
	return o, nil
}

// reviewed is a review that was made, as it is kept beside the session.
type reviewed struct {
	Target string `json:"target"`
	Pull   int    `json:"pull_request,omitempty"`
	review.Report
}

func runReview(ctx context.Context, h *Host, args string, aspects []review.Aspect) (event.Output, error) {
	o, err := readReview(args, aspects)
	if err != nil {
		return event.Output{}, err
	}
	ch, err := h.changeOf(ctx, o.target)
	if err != nil {
		return event.Output{}, err
	}
	if strings.TrimSpace(ch.text) == "" {
		return text("There is nothing to review: %s has no changes.", ch.name), nil
	}
	agents := h.Session().Env().Agents
	r := &review.Reviewer{
		Ask: func(ctx context.Context, title, prompt string) (string, error) {
			return agents.ExploreFor(ctx, title, "", prompt)
		},
		Read: ch.read, Tell: func(line string) { h.Notice("info", "review: %s", line) },
	}
	h.Notice("info", "review: %s reviewers look at %s", plural(len(o.aspects), "aspect"), ch.name)
	rep, err := r.Run(ctx, ch.text, o.aspects, o.most)
	if err != nil {
		return event.Output{}, err
	}
	done := reviewed{ch.name, ch.pull, rep}
	if err := h.keepReview(done); err != nil {
		return event.Output{}, err
	}
	switch o.form {
	case "json":
		b, err := json.MarshalIndent(done, "", "  ")
		return event.Output{Text: string(b)}, err
	case "sarif":
		b, err := rep.SARIF("")
		return event.Output{Text: string(b)}, err
	}
	out := reviewText(done)
	if o.fix && len(rep.Findings) > 0 {
		fixed, err := h.fixFindings(ctx, ch, rep.Findings)
		if err != nil {
			return event.Output{}, err
		}
		out += "\n" + fixed
	}
	if o.comment {
		out += commentText(done)
	}
	return event.Output{Text: out}, nil
}

func reviewText(r reviewed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Review of %s: %s", r.Target, plural(len(r.Findings), "finding"))
	if r.Left > 0 {
		fmt.Fprintf(&b, ", %d more left out", r.Left)
	}
	fmt.Fprintf(&b, "; %d dropped, since the check did not confirm them.\n\n", len(r.Dropped))
	for i, f := range r.Findings {
		fmt.Fprintf(&b, "%d. **%s** %s:%d %s (%s, confidence %.0f%%)\n   %s\n   %s\n   %s\n", i+1, f.Severity, code(f.File),
			f.Line, short(f.Title, 200), strings.Join(f.Aspects, ", "), f.Confidence*100, code(f.Evidence), short(f.Detail, 600),
			short(f.Trace, 600))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n- %s\n", p)
	}
	return b.String()
}

// reviewFile keeps the last review of a session.
func (h *Host) reviewFile() string {
	return filepath.Join(h.Session().Log().Folder(), "review.json")
}

func (h *Host) keepReview(r reviewed) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(h.reviewFile(), b, 0o600)
}

// fixFindings has an agent mend findings in a worktree and runs the check there.
func (h *Host) fixFindings(ctx context.Context, ch change, all []review.Finding) (string, error) {
	list, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return "", err
	}
	kinds := subagent.BuiltIn()
	kind := kinds[slices.IndexFunc(kinds, func(k subagent.Kind) bool { return k.Name == subagent.General })]
	kind.Name, kind.Isolated = "fixer", true
	set, s := h.Instance.Extensions().Eval(), h.Session()
	where, result := "", ""
	out, err := s.Env().Agents.Run(ctx, subagent.Request{
		Call: "review-fix", Title: "Fix findings", As: &kind, Git: true, Base: ch.base,
		Prompt: "Mend these findings of a review, each as small as possible, with a test where one is missing. " +
			"Leave alone what you find to be no defect, and say so in the end.\n\n" + string(list),
		Then: func(ctx context.Context, _ subagent.Outcome, conv subagent.Conversation, tree *worktree.Tree) {
			if tree != nil {
				where = tree.Branch()
			}
			if check := eval.RunCheck(ctx, set, "review-check", conv.Invoke); check != nil {
				result = " " + check.String() + "."
			}
		},
	})
	if err = cmp.Or(err, errorOf(out.Problem)); err != nil {
		return "", fmt.Errorf("the findings were not mended: %w", err)
	}
	text := "The fixes are in a worktree."
	if where != "" {
		text = fmt.Sprintf("The fixes are on the branch %s: `git merge %s` takes them over.", code(where), where)
	}
	return text + result + "\n\n" + out.Answer + "\n", nil
}

func errorOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}
