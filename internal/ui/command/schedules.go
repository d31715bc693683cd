package command

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/schedule"
)

//go:embed loop.md
var loopPrompt string

func scheduleCommands() []Command {
	return []Command{
		{
			Name: "loop", Group: groupConversation, Args: "[interval] [prompt]|stop",
			Help: "Send a prompt again and again",
			Doc: "`/loop 5m check the build` sends it now and every five minutes (m, h, d; a minute at least). Without an " +
				"interval the model says when to go on, from a minute to an hour later, and when to stop. Without a prompt it " +
				"is the text of `loop.md` in the project's `.lathe` folder or beside your settings, else to look after the work " +
				"at hand. " +
				"Runs begin between turns and end after 7 days; `/loop stop` ends them at once.",
			Complete: oneOf("stop"), Run: loop,
		},
		{
			Name: "remind", Group: groupConversation, Args: "[time] [prompt]",
			Help: "Send a prompt once, later",
			Doc: "`/remind 45m look at the deployment`; the time is a duration (m, h, d), a time of the day (`15:30`) or a " +
				"day and time (`2026-12-24 15:30`).",
			Run: remind,
		},
		{
			Name: "schedule", Aliases: []string{"schedules"}, Group: groupConversation, Args: "[rm id]",
			Help: "List what is scheduled in this session, and remove some",
			Run:  schedules,
		},
	}
}

// planned returns the schedules of the session in front.
func (h *Host) planned() (*schedule.Store, error) {
	if all := h.Session().Env().Schedules; all != nil {
		return all, nil
	}
	return nil, errors.New("nothing can be scheduled here: the session ends with its answer; start it with lathe or " +
		"lathe --bg")
}

// plan keeps a schedule, and the session with it.
func (h *Host) plan(x schedule.Schedule) (event.Output, error) {
	all, err := h.planned()
	if err != nil {
		return event.Output{}, err
	}
	if x, err = all.Add(x); err != nil {
		return event.Output{}, err
	}
	line := fmt.Sprintf("Scheduled %s: %s, next %s.", x.ID, x.When(), clock(x.Due))
	return done(h.Session().JournalNote(event.Notice{Level: "info", Text: line}), "%s `/schedule` lists and removes it.", line)
}

func loop(_ context.Context, h *Host, args string) (event.Output, error) {
	if args == "stop" {
		return stopLoops(h)
	}
	now := time.Now()
	first, prompt, _ := strings.Cut(args, " ")
	x := schedule.Schedule{Paced: true, Prompt: args, Due: now, Expires: now.Add(schedule.Lifetime)}
	if every, ok := interval(first); ok {
		x.Paced, x.Prompt = false, prompt
		x.Cron = "@every " + plainSpan(max(every, schedule.Shortest))
	}
	if strings.TrimSpace(x.Prompt) == "" {
		text, err := loopFile(h)
		if err != nil {
			return event.Output{}, err
		}
		x.Prompt = text
	}
	if x.Paced { // one at a time, so that a wake-up needs no name
		if err := dropLoops(h, func(x schedule.Schedule) bool { return x.Paced }, nil); err != nil {
			return event.Output{}, err
		}
	}
	return h.plan(x)
}

// mostLoopFile is how much of a loop.md is read, in bytes.
const mostLoopFile = 25 << 10

// loopFile is the prompt of a loop that names none.
func loopFile(h *Host) (string, error) {
	for _, dir := range []string{
		filepath.Join(h.Status().Dir, ".lathe"), filepath.Join(h.Status().Dir, ".claude"),
		h.Instance.Config().Paths().ConfigHome,
	} {
		b, err := os.ReadFile(filepath.Join(dir, "loop.md"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if text := strings.TrimSpace(string(b[:min(len(b), mostLoopFile)])); text != "" {
			return text, nil
		}
	}
	return strings.TrimSpace(loopPrompt), nil
}

func isLoop(x schedule.Schedule) bool { return x.Paced || strings.HasPrefix(x.Cron, "@every ") }

func stopLoops(h *Host) (event.Output, error) {
	n := 0
	if err := dropLoops(h, isLoop, &n); err != nil {
		return event.Output{}, err
	}
	if n == 0 {
		return text("No loop runs."), nil
	}
	return text("Ended %s.", plural(n, "loop")), nil
}

// dropLoops removes the schedules that fit, and counts them.
func dropLoops(h *Host, fits func(schedule.Schedule) bool, n *int) error {
	all, err := h.planned()
	if err != nil {
		return err
	}
	found, err := all.List()
	for _, x := range slices.DeleteFunc(found, func(x schedule.Schedule) bool { return !fits(x) }) {
		if _, e := all.Remove(x.ID); e != nil && !errors.Is(e, schedule.ErrNone) {
			err = errors.Join(err, e)
		} else if n != nil {
			*n++
		}
	}
	return err
}

func remind(ctx context.Context, h *Host, args string) (event.Output, error) {
	if args == "" {
		return schedules(ctx, h, "")
	}
	due, prompt, err := moment(args, time.Now())
	if err != nil {
		return event.Output{}, err
	}
	if prompt == "" {
		return event.Output{}, errors.New("say of what: /remind 45m look at the deployment")
	}
	return h.plan(schedule.Schedule{Prompt: prompt, Due: due})
}

// moment reads the time that a text begins with, and returns the rest.
func moment(text string, now time.Time) (time.Time, string, error) {
	first, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	if d, ok := interval(first); ok {
		return now.Add(d), rest, nil
	}
	if t, err := time.ParseInLocation("15:04", first, time.Local); err == nil {
		due := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, time.Local)
		if !due.After(now) {
			due = due.AddDate(0, 0, 1)
		}
		return due, rest, nil
	}
	second, rest, _ := strings.Cut(rest, " ")
	due, err := time.ParseInLocation("2006-01-02 15:04", first+" "+second, time.Local)
	switch {
	case err != nil:
		return due, "", fmt.Errorf("%q is no time: give a duration (45m, 2h, 1d), a time of the day (15:30) or a day and "+
			"time (2026-12-24 15:30)", first)
	case !due.After(now):
		return due, "", fmt.Errorf("%s %s has passed", first, second)
	}
	return due, strings.TrimSpace(rest), nil
}

// interval reads a duration such as 5m, 2h or 1d.
func interval(s string) (time.Duration, bool) {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		days, err := strconv.Atoi(n)
		return time.Duration(days) * 24 * time.Hour, err == nil && days > 0 && days <= 365
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0
}

// plainSpan writes a duration without zero parts.
func plainSpan(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func clock(t time.Time) string { return t.Local().Format("Mon 2006-01-02 15:04") }

func schedules(_ context.Context, h *Host, args string) (event.Output, error) {
	all, err := h.planned()
	if err != nil {
		return event.Output{}, err
	}
	if id, ok := strings.CutPrefix(args, "rm "); ok {
		x, err := all.Remove(strings.TrimSpace(id))
		return done(err, "Removed: %s", code(short(x.Prompt, 80)))
	}
	found, err := all.List()
	if err != nil {
		return event.Output{}, err
	}
	p := &event.Pick{
		Title: "Remove from the schedule", Command: "schedule rm",
		Empty: "Nothing is scheduled; /loop and /remind do, or ask the agent.",
	}
	for _, x := range found {
		p.Items = append(p.Items, event.PickItem{
			ID: x.ID, Label: short(x.Prompt, 120), Detail: x.When() + ", next " + clock(x.Due), Preview: fenced("", x.Prompt),
		})
	}
	return event.Output{Pick: p}, nil
}
