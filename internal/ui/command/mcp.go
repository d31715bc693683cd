package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
)

// The words after /mcp.
var mcpVerbs = []struct{ word, help string }{
	{"reconnect", "end the server and start it again"},
	{"disable", "leave out its tools until lathe ends"},
	{"enable", "use a disabled server again"},
	{"approve", "let a server of the project start, or accept its changed tools"},
	{"authorise", "log in to a server over HTTP"},
	{"logout", "delete the login"},
	{"log", "show the end of its log"},
}

func mcpCommand() Command {
	return Command{
		Name: "mcp", Group: groupLathe, Args: "[reconnect|disable|enable|approve|authorise|logout|log] [name]",
		Help: "Show the MCP servers, and act on one",
		Doc: "Each with its state, its tools and the estimated tokens of their schemas. `/mcp NAME` shows one in full, " +
			"`/mcp log NAME` the end of its log. " +
			"docs/mcp.md has more.",
		Complete: completeServers, Run: runServers,
	}
}

func completeServers(_ context.Context, h *Host, typed string) []event.Candidate {
	verb, rest, spoken := strings.Cut(typed, " ")
	var out []event.Candidate
	for _, s := range h.Instance.Servers().Status() {
		c := event.Candidate{Text: s.Name, Help: string(s.State)}
		if spoken {
			c.Text = verb + " " + s.Name
		}
		out = append(out, c)
	}
	if spoken {
		return choices(verb+" "+rest, out)
	}
	for _, v := range mcpVerbs {
		out = append(out, event.Candidate{Text: v.word, Help: v.help, Hint: "NAME"})
	}
	return choices(typed, out)
}

func runServers(ctx context.Context, h *Host, args string) (event.Output, error) {
	servers := h.Instance.Servers()
	verb, rest, _ := strings.Cut(args, " ")
	name, pasted, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if verb == "authorize" {
		verb = "authorise"
	}
	if args == "" {
		return listServers(servers), nil
	}
	known := false
	for _, v := range mcpVerbs {
		known = known || v.word == verb
	}
	if !known {
		verb, name = "", args
	}
	s, err := findServer(servers, name)
	if err != nil {
		return event.Output{}, err
	}
	if verb == "authorise" {
		next, err := h.authorise(ctx, s.Name, strings.TrimSpace(pasted))
		return event.Output{Text: next}, err
	}
	return actOn(ctx, servers, verb, s)
}

func findServer(servers *mcp.Set, name string) (mcp.Status, error) {
	var names []string
	for _, s := range servers.Status() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return mcp.Status{}, fmt.Errorf("there are no MCP servers; add one with: lathe mcp add NAME -- COMMAND")
	}
	return mcp.Status{}, fmt.Errorf("there is no MCP server %q; the servers are %s", name, strings.Join(names, ", "))
}

func actOn(ctx context.Context, servers *mcp.Set, verb string, s mcp.Status) (event.Output, error) {
	switch verb {
	case "reconnect":
		return done(servers.Reconnect(ctx, s.Name), "%s is connected.", code(s.Name))
	case "disable", "enable":
		if err := servers.Toggle(s.Name, verb == "enable"); err != nil {
			return event.Output{}, err
		}
		if verb == "enable" {
			return text("The tools of %s are there again.", code(s.Name)), nil
		}
		return text("The tools of %s are left out until lathe ends, or until `/mcp enable %s`.", code(s.Name), s.Name), nil
	case "approve":
		return done(approve(servers, s), "%s is approved.", code(s.Name))
	case "logout":
		return done(servers.Logout(ctx, s.Name), "The login of %s is deleted.", code(s.Name))
	case "log":
		log := endOf(servers.Log(s.Name))
		if strings.TrimSpace(log) == "" {
			return text("The log of %s is empty.", code(s.Name)), nil
		}
		return event.Output{Text: fenced("", log)}, nil
	}
	return event.Output{Text: describeServer(servers, s)}, nil
}

func listServers(servers *mcp.Set) event.Output {
	all := servers.Status()
	if len(all) == 0 {
		return text("No MCP servers; `lathe mcp add NAME -- COMMAND` adds one.")
	}
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "- %s %s", code(s.Name), code(string(s.State)))
		if len(s.Tools) > 0 {
			fmt.Fprintf(&b, ", %s, about %s tokens of schemas", plural(len(s.Tools), "tool"), grouped(s.Tokens))
		}
		if n := len(promptsOf(servers, s.Name)); n > 0 {
			fmt.Fprintf(&b, ", %s", plural(n, "prompt"))
		}
		switch {
		case s.Err != "":
			fmt.Fprintf(&b, ": %s", code(short(s.Err, 200)))
		case s.State == mcp.Unapproved:
			fmt.Fprintf(&b, ": `/mcp %s` shows it, `/mcp approve %s` lets it start", s.Name, s.Name)
		case servers.Changes(s.Name) != "":
			fmt.Fprintf(&b, ": its tools changed; `/mcp %s` shows how, `/mcp approve %s` accepts it", s.Name, s.Name)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n`/mcp NAME` shows one; ")
	for i, v := range mcpVerbs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v.word)
	}
	b.WriteString(" before the name act on it.\n")
	return event.Output{Text: b.String()}
}

func describeServer(servers *mcp.Set, s mcp.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s\n\n", code(s.Name), code(string(s.State)))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, code(text))
		}
	}
	line("error", s.Err)
	line("scope", s.Scope)
	line("file", s.File)
	for _, f := range s.Effects {
		line(f.Word, f.Text)
	}
	if s.Server.Name != "" {
		line("server", s.Server.Name+" "+s.Server.Version)
	}
	line("login", servers.LoginOf(s.Name))
	line("tools", strings.Join(s.Tools, ", "))
	if s.Tokens > 0 {
		line("tokens of their schemas", "about "+grouped(s.Tokens))
	}
	line("prompts", strings.Join(promptsOf(servers, s.Name), ", "))
	for _, w := range s.Withheld {
		line("left out", w)
	}
	if changes := servers.Changes(s.Name); changes != "" {
		fmt.Fprintf(&b, "\nChanged since you accepted it (`/mcp approve %s` accepts it):\n\n%s\n", s.Name,
			fenced("diff", changes))
	}
	return b.String()
}

// logTail is how much of a log is shown, in bytes.
const logTail = 4 << 10

// endOf returns the end of a log, in whole lines.
func endOf(log string) string {
	if len(log) <= logTail {
		return log
	}
	log = log[len(log)-logTail:]
	_, rest, _ := strings.Cut(log, "\n")
	return rest
}

// approve lets a server of the project start, or accepts its changes.
func approve(servers *mcp.Set, s mcp.Status) error {
	if s.State == mcp.Unapproved {
		return servers.Admit(s.Name)
	}
	if servers.Changes(s.Name) == "" {
		return fmt.Errorf("nothing of %s waits for approval", s.Name)
	}
	return servers.Accept(s.Name)
}

// promptsOf lists the prompts of a server as commands.
func promptsOf(servers *mcp.Set, name string) (out []string) {
	for _, p := range servers.Prompts() {
		if p.Server == name {
			out = append(out, "/"+p.Name)
		}
	}
	return out
}

// loginWait is how long a login waits for the user.
const loginWait = 10 * time.Minute

// authorise begins a login beside the caller and returns as soon as its address is known. With pasted, the address at
// which a browser on another machine ended, it goes on with the login that waits for it.
func (h *Host) authorise(ctx context.Context, name, pasted string) (string, error) {
	if pasted != "" {
		return h.pasteLogin(name, pasted)
	}
	address, failed := make(chan string, 1), make(chan error, 1)
	paste := make(chan string, 1)
	h.mu.Lock()
	if h.logins == nil {
		h.logins = map[string]chan string{}
	}
	h.logins[name] = paste
	h.mu.Unlock()
	h.Go(func() {
		ctx, cancel := context.WithTimeoutCause(h.Context, loginWait, fmt.Errorf("no login within %s", loginWait))
		defer cancel()
		err := h.Instance.Servers().Login(ctx, name,
			mcp.Browser{Pasted: paste, Open: func(ctx context.Context, a string) error {
				address <- a
				if h.Browse != nil {
					h.Browse(ctx, a)
				}
				return nil
			}})
		failed <- err
		if err == nil {
			h.Notice("info", "%s: %s", name, h.Instance.Servers().LoginOf(name))
			h.Session().Hooks().Notify(h.Context, "auth_success", "you are logged in to the MCP server "+name)
		} else if h.Context.Err() == nil && ctx.Err() != nil {
			h.Notice("warning", "the login to %s: %v", name, err)
		}
	})
	select {
	case a := <-address:
		return fmt.Sprintf("Log in at:\n\n%s\n\nIf the browser is on another machine, give the address that it ends at: "+
			"`/mcp authorise %s ADDRESS`", a, name), nil
	case err := <-failed:
		return "", err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// pasteLogin gives the waiting login of a server the address that the user copied.
func (h *Host) pasteLogin(name, address string) (string, error) {
	h.mu.Lock()
	paste := h.logins[name]
	h.mu.Unlock()
	if paste == nil {
		return "", fmt.Errorf("no login to %s waits; begin one with /mcp authorise %s", name, name)
	}
	select {
	case paste <- address:
		return "The login goes on.", nil
	default:
		return "", fmt.Errorf("the login to %s has an address already", name)
	}
}
