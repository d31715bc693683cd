package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/review"
	"github.com/lathe-dev/lathe/internal/event"
)

// commentText shows the comments that /review post would post.
func commentText(r reviewed) string {
	if r.Pull == 0 {
		return "\nComments need a pull request: `/review #12 --comment`.\n"
	}
	if len(r.Findings) == 0 {
		return "\nThere is nothing to comment.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s for pull request #%d; `/review post` posts them:\n\n", plural(len(r.Findings), "comment"),
		r.Pull)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s line %d\n\n%s\n\n", code(f.File), f.Line, fenced("", commentOf(f)))
	}
	return b.String()
}

func commentOf(f review.Finding) string {
	return fmt.Sprintf("**%s (%s)**\n\n%s\n\n%s", f.Title, f.Severity, f.Detail, f.Trace)
}

// postReview posts the comments of the last review, which showed them.
func postReview(ctx context.Context, h *Host) (event.Output, error) {
	b, err := os.ReadFile(h.reviewFile())
	var r reviewed
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && (r.Pull == 0 || len(r.Findings) == 0):
		return event.Output{}, errors.New("no review of a pull request with findings was made here: /review #12 --comment")
	case err != nil:
		return event.Output{}, err
	}
	_, repo, err := h.repo()
	if err != nil {
		return event.Output{}, err
	}
	n := strconv.Itoa(r.Pull)
	if h.client(ctx, repo) == "glab" {
		for _, f := range r.Findings {
			text := fmt.Sprintf("%s:%d\n\n%s", f.File, f.Line, commentOf(f))
			if _, err := h.hub(ctx, "", "glab", "mr", "note", n, "--message", text); err != nil {
				return event.Output{}, err
			}
		}
		return text("Posted %s to merge request !%d.", plural(len(r.Findings), "comment"), r.Pull), nil
	}
	comments := []map[string]any{}
	for _, f := range r.Findings {
		comments = append(comments, map[string]any{"path": f.File, "line": f.Line, "side": "RIGHT", "body": commentOf(f)})
	}
	body, err := json.Marshal(map[string]any{"event": "COMMENT", "comments": comments})
	if err != nil {
		return event.Output{}, err
	}
	_, err = h.hub(ctx, string(body), "gh", "api", "--method", "POST", "repos/{owner}/{repo}/pulls/"+n+"/reviews",
		"--input", "-")
	return done(err, "Posted %s to pull request #%d.", plural(len(r.Findings), "comment"), r.Pull)
}
