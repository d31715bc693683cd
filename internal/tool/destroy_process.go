package tool

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// process is one that runs.
type process struct {
	pid, parent int
	name        string // of its program
	line        string // its command line, shortened
}

// processes lists the processes that a command would end.
func (d *destruction) processes(ctx context.Context, program string, args []string) {
	all, err := runningProcesses(ctx, d.env.Runner)
	if err != nil || len(all) == 0 {
		d.say("Which processes it would end is not known here.")
		return
	}
	hit := chosen(program, args, all)
	if len(hit) == 0 {
		d.say("No process that runs now is meant.")
		return
	}
	var names []string
	for _, p := range hit {
		names = append(names, strconv.Itoa(p.pid)+" "+p.line)
	}
	d.say("It would end %s: %s", count(len(hit), "process", "processes"), someOf(names, len(names)))
	if ours := ancestors(all); slices.ContainsFunc(hit, func(p process) bool { return ours[p.pid] }) {
		d.say("lathe itself, or a process it runs in, is among them.")
	}
}

// chosen are the processes that the arguments name: by number, or by program as pkill(1) and killall(1) do.
// Other ways to choose (-u, -g, ...) are ignored, so there may be fewer.
func chosen(program string, args []string, all []process) []process {
	full := false
	var match []func(process) bool
	for i, a := range args {
		n, err := strconv.Atoi(a)
		switch {
		case program == "kill" && err == nil && (n > 1 || n < -1 && i > 0):
			match = append(match, func(p process) bool { return p.pid == max(n, -n) })
		case program == "kill" || strings.HasPrefix(a, "-"):
			full = full || program == "pkill" && !strings.HasPrefix(a, "--") && strings.Contains(a, "f") || a == "--full"
		case program == "killall":
			match = append(match, func(p process) bool { return p.name == a })
		default:
			if e, err := regexp.Compile(a); err == nil {
				match = append(match, func(p process) bool { return e.MatchString(p.name) || full && e.MatchString(p.line) })
			}
		}
	}
	var out []process
	for _, p := range all {
		if p.pid != 0 && slices.ContainsFunc(match, func(m func(process) bool) bool { return m(p) }) {
			out = append(out, p)
		}
	}
	return out
}

// ancestors are lathe's own process and those it was started by, but for the first of the system.
func ancestors(all []process) map[int]bool {
	parents := map[int]int{}
	for _, p := range all {
		parents[p.pid] = p.parent
	}
	out := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !out[pid]; pid = parents[pid] {
		out[pid] = true
	}
	return out
}

// lineShown is how much of a command line is shown.
const lineShown = 60

func processOf(pid, parent int, name, line string) process {
	line = strings.TrimSpace(line)
	if line == "" {
		line = name
	}
	if len(line) > lineShown {
		line = cutLine(line, lineShown) + "…"
	}
	return process{pid, parent, filepath.Base(name), line}
}
