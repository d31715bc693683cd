package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// Servers are the MCP servers of the folder.
type Servers interface {
	List() []Server
	Reconnect(ctx context.Context, name string) error
	Toggle(name string, on bool) error // until lathe ends
	// Approve lets a server of the project start, or accepts its changes.
	Approve(ctx context.Context, name string) error
	// Authorise begins a login and returns the next step for the user; its end is announced. With pasted, the address that
	// a browser elsewhere ended at, it goes on with one.
	Authorise(ctx context.Context, name, pasted string) (string, error)
	Logout(ctx context.Context, name string) error
	Log(name string) string // the end of it
}

// Server is an MCP server. All texts are foreign.
type Server struct {
	Name, Scope, File string
	Effects           [][2]string // of its entry: a word such as "runs", and a text
	State             string
	Err               string
	Version           string   // its own name and version; empty: it was not reached
	Tools             []string // their names at the server
	Prompts           []string // as commands
	Withheld          []string // why tools are left out
	Tokens            int      // of the tools' schemas
	Changes           string   // descriptions that wait for approval, as a diff
	Login             string
}

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

func completeServers(_ context.Context, h Host, typed string) []event.Candidate {
	verb, rest, spoken := strings.Cut(typed, " ")
	var out []event.Candidate
	for _, s := range h.Extensions().Servers().List() {
		c := event.Candidate{Text: s.Name, Help: s.State}
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

func runServers(ctx context.Context, h Host, args string) (event.Output, error) {
	servers := h.Extensions().Servers()
	verb, rest, _ := strings.Cut(args, " ")
	name, pasted, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if verb == "authorize" {
		verb = "authorise"
	}
	if args == "" {
		return listServers(servers.List()), nil
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
		next, err := servers.Authorise(ctx, s.Name, strings.TrimSpace(pasted))
		return event.Output{Text: next}, err
	}
	return actOn(ctx, servers, verb, s)
}

func findServer(servers Servers, name string) (Server, error) {
	var names []string
	for _, s := range servers.List() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return Server{}, fmt.Errorf("there are no MCP servers; add one with: lathe mcp add NAME -- COMMAND")
	}
	return Server{}, fmt.Errorf("there is no MCP server %q; the servers are %s", name, strings.Join(names, ", "))
}

func actOn(ctx context.Context, servers Servers, verb string, s Server) (event.Output, error) {
	switch verb {
	case "reconnect":
		if err := servers.Reconnect(ctx, s.Name); err != nil {
			return event.Output{}, err
		}
		return text("%s is connected.", code(s.Name)), nil
	case "disable", "enable":
		if err := servers.Toggle(s.Name, verb == "enable"); err != nil {
			return event.Output{}, err
		}
		if verb == "enable" {
			return text("The tools of %s are there again.", code(s.Name)), nil
		}
		return text("The tools of %s are left out until lathe ends, or until `/mcp enable %s`.", code(s.Name), s.Name), nil
	case "approve":
		if err := servers.Approve(ctx, s.Name); err != nil {
			return event.Output{}, err
		}
		return text("%s is approved.", code(s.Name)), nil
	case "logout":
		if err := servers.Logout(ctx, s.Name); err != nil {
			return event.Output{}, err
		}
		return text("The login of %s is deleted.", code(s.Name)), nil
	case "log":
		log := servers.Log(s.Name)
		if strings.TrimSpace(log) == "" {
			return text("The log of %s is empty.", code(s.Name)), nil
		}
		return event.Output{Text: fenced("", log)}, nil
	}
	return event.Output{Text: describeServer(s)}, nil
}

func listServers(all []Server) event.Output {
	if len(all) == 0 {
		return text("No MCP servers; `lathe mcp add NAME -- COMMAND` adds one.")
	}
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "- %s %s", code(s.Name), code(s.State))
		if len(s.Tools) > 0 {
			fmt.Fprintf(&b, ", %s, about %s tokens of schemas", plural(len(s.Tools), "tool"), grouped(s.Tokens))
		}
		if len(s.Prompts) > 0 {
			fmt.Fprintf(&b, ", %s", plural(len(s.Prompts), "prompt"))
		}
		switch {
		case s.Err != "":
			fmt.Fprintf(&b, ": %s", code(short(s.Err, 200)))
		case s.State == "unapproved":
			fmt.Fprintf(&b, ": `/mcp %s` shows it, `/mcp approve %s` lets it start", s.Name, s.Name)
		case s.Changes != "":
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

func describeServer(s Server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s\n\n", code(s.Name), code(s.State))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, code(text))
		}
	}
	line("error", s.Err)
	line("scope", s.Scope)
	line("file", s.File)
	for _, f := range s.Effects {
		line(f[0], f[1])
	}
	line("server", s.Version)
	line("login", s.Login)
	line("tools", strings.Join(s.Tools, ", "))
	if s.Tokens > 0 {
		line("tokens of their schemas", "about "+grouped(s.Tokens))
	}
	line("prompts", strings.Join(s.Prompts, ", "))
	for _, w := range s.Withheld {
		line("left out", w)
	}
	if s.Changes != "" {
		fmt.Fprintf(&b, "\nChanged since you accepted it (`/mcp approve %s` accepts it):\n\n%s\n", s.Name,
			fenced("diff", s.Changes))
	}
	return b.String()
}
