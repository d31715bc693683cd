package command

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

func asideCommands() []Command {
	return []Command{
		{
			Name: "btw", Group: groupConversation, Args: "[question]",
			Help: "Ask something beside the conversation, also while the agent works",
			Doc: "The answer is shown and does not enter the conversation. The model answers from what it has seen, without " +
				"tools; the request continues the conversation, so most of it is read from the cache. Without a " +
				"question it shows the answers of this session.",
			Run: btw,
		},
		{
			Name: "recap", Group: groupConversation, Help: "Say in a line or two where the work stands",
			Doc: "The small model writes it; it does not enter the conversation.", Run: recap,
		},
		{
			Name: "handoff", Group: groupConversation, Alone: true, Args: "<goal>", Needs: true,
			Help: "Go on in a new session that knows what matters for a goal",
			Doc: "The model writes what the new session needs for the goal: decisions, files and the next step. A new session " +
				"begins, and the text is in the prompt to edit and send. This session is kept.",
			Run: handoff,
		},
		{
			Name: "search", Group: groupSessions, Alone: true, Args: "[all] <text>", Needs: true,
			Help: "Search all sessions of this folder",
			Doc: "It searches prompts, replies, calls, results and titles. `/search all TEXT` searches every folder. Choose a " +
				"session to continue it. Scripts use `lathe session grep`.",
			Run: searchSessions,
		},
	}
}

const btwOpening = "A side question of the user, who may be watching you work. Answer it briefly from what this " +
	"conversation shows. Call no tool and do not go on with the work; the answer does not enter the conversation.\n\n"

func btw(ctx context.Context, h *Host, args string) (event.Output, error) {
	id := h.Session().ID()
	if args == "" {
		all := h.Kept.asides(id)
		if all == "" {
			return text("Nothing was asked yet: `/btw why that file?`"), nil
		}
		return event.Output{Page: &event.Page{Title: "Side questions", Text: all}}, nil
	}
	answer, err := h.Session().Aside(ctx, "btw", btwOpening+args)
	if err != nil {
		return event.Output{}, err
	}
	h.keepAside(id, "**"+escapeMarkdown(args)+"**\n\n"+answer)
	return event.Output{Page: &event.Page{Title: "btw: " + short(args, 60), Text: answer}}, nil
}

func escapeMarkdown(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "`", "\\`").Replace(short(s, 200))
}

// keepAside keeps the answer to a side question of a session, until lathe ends.
func (k *Kept) keepAside(session, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answers == nil {
		k.answers = map[string][]string{}
	}
	k.answers[session] = append(k.answers[session], text)
}

func (k *Kept) asides(session string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.answers[session], "\n\n---\n\n")
}

const recapSystem = "You tell the user of a coding agent where its work stands. Answer with at most two short " +
	"sentences: " +
	"what was done last and what is next or waits for the user. No heading, no list."

func recap(ctx context.Context, h *Host, _ string) (event.Output, error) {
	if len(h.Session().Messages()) == 0 {
		return event.Output{}, errNothing
	}
	line, err := h.Session().AskSmall(ctx, "recap", recapSystem, 30_000)
	return event.Output{Text: line}, err
}

//go:embed handoff.md
var handoffQuestion string

func handoff(ctx context.Context, h *Host, args string) (event.Output, error) {
	switch {
	case args == "":
		return event.Output{}, errors.New("say what the new session is for: /handoff write the documentation")
	case len(h.Session().Messages()) == 0:
		return event.Output{}, errNothing
	}
	draft, err := h.Session().Aside(ctx, "handoff", fmt.Sprintf(handoffQuestion, args))
	if err != nil {
		return event.Output{}, err
	}
	from := h.Session().ID()
	if err := h.New(ctx); err != nil {
		return event.Output{}, err
	}
	return event.Output{
		Insert: draft,
		Text:   fmt.Sprintf("A new session begins with this prompt; `/resume %s` leads back.", from),
	}, nil
}

func searchSessions(ctx context.Context, h *Host, args string) (event.Output, error) {
	dir := h.Instance.Dir()
	typed, all := strings.CutPrefix(args, "all ")
	if all {
		dir = ""
	}
	if strings.TrimSpace(typed) == "" {
		return event.Output{}, errors.New("say what to search for: /search connection refused")
	}
	p := &event.Pick{
		Title: "Sessions with: " + short(typed, 60), Command: "resume",
		Empty: "No session of this folder has it; /search all TEXT looks in every folder.",
	}
	current := h.Session().ID()
	for _, hit := range h.Instance.Store().Grep(ctx, dir, typed) {
		item := sessionItem(hit.Info, current)
		var around []string
		for _, t := range hit.Hits {
			around = append(around, t.Text)
		}
		item.Detail, item.Preview = plural(hit.Count, "place"), fenced("", strings.Join(around, "\n\n"))
		p.Items = append(p.Items, item)
	}
	return event.Output{Pick: p}, nil
}
