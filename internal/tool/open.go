package tool

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed open.md
var openDescription string

type openInput struct {
	Target string `json:"target" jsonschema:"an http or https address, or a path"`
}

var openTool = call.Declaration{
	Name: "Open", Aliases: []string{"open_url", "open_browser", "browser_open"},
	Input: schemaOf[openInput](), Params: map[string]string{"target": "url uri path file_path address path_or_url"},
	Deferred: true, Accesses: call.Typed(openAccesses),
}

// openAccesses are the tool itself, which asks in each mode (a browser sends the address, with all that it may hold,
// past the sandbox), and the file or the host.
func openAccesses(in openInput, at call.Place) ([]permission.Access, error) {
	self := permission.Access{Kind: permission.Tool, Target: "Open", Asks: true}
	if address, ok, err := address(in.Target); err != nil {
		return nil, err
	} else if ok {
		return []permission.Access{self, permission.NetAccess(address)}, nil
	}
	return []permission.Access{self, at.Access(permission.Read, in.Target)}, nil
}

// address is the URL that a target is; ok is false for a path. Only web pages are opened: other schemes start other
// programs.
func address(target string) (string, bool, error) {
	if target == "" {
		return "", false, errors.New(`the input names nothing to open; give an address or a path as "target"`)
	}
	if strings.HasPrefix(target, "-") || strings.ContainsAny(target, "\x00\n\r") {
		return "", false, fmt.Errorf("%q cannot be opened; give an address or a path", target)
	}
	scheme, _, found := strings.Cut(target, ":")
	if !found || len(scheme) < 2 || strings.ContainsAny(scheme, `/\. `) {
		return "", false, nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", false, fmt.Errorf("%q cannot be opened: only http and https addresses and files can; give one of "+
			"these, or ask the user to open it", target)
	}
	if u.User != nil {
		return "", false, errors.New("an address with a user name or a password is not opened; leave them out")
	}
	return u.String(), true, nil
}

// started are ends of names of files that the desktop would run instead of showing them.
var started = []string{
	".desktop", ".command", ".app", ".exe", ".bat", ".cmd", ".com", ".msi", ".ps1", ".vbs", ".vbe", ".js", ".jse", ".wsf",
	".wsh", ".jar", ".lnk", ".url", ".scr", ".pif", ".cpl",
	".reg", ".hta", ".msc", ".workflow", ".terminal", ".tool", ".scpt", ".scptd", ".applescript", ".pkg", ".dmg",
	".appimage", ".run", ".deb", ".rpm", ".webloc", ".inetloc", ".fileloc",
}

func newOpen(env *Files, programs *Programs) agent.Tool {
	return newTool(openTool, openDescription, func(ctx context.Context, _ llm.ToolCall, in openInput) (*agent.Plan,
		error,
	) {
		accesses, err := openAccesses(in, env.place())
		if err != nil {
			return nil, err
		}
		target, web, _ := address(in.Target)
		if !web {
			if target, err = env.openable(ctx, in.Target); err != nil {
				return nil, err
			}
		}
		return &agent.Plan{Accesses: accesses, Title: in.Target, Run: func(ctx context.Context) (*agent.Result, error) {
			return programs.open(ctx, target, env.Roots.First())
		}}, nil
	})
}

// openable is the real path of a file that is safe to open: the desktop shows it and does not run it.
func (e *Files) openable(ctx context.Context, name string) (string, error) {
	p, err := e.resolve(name)
	if err != nil {
		return "", err
	}
	if p.Err != nil {
		return "", pathError("open", p, p.Err)
	}
	if p.Info == nil {
		return "", missingError(ctx, e, "open", p)
	}
	if slices.Contains(started, strings.ToLower(filepath.Ext(p.Real))) || p.Info.Mode().IsRegular() &&
		p.Info.Mode().Perm()&0o111 != 0 {
		return "", fmt.Errorf("%s is a program or a link to one, which opening would run; run it with Bash if that is meant",
			p.Lexical)
	}
	if !p.Info.Mode().IsRegular() && !p.Info.IsDir() {
		return "", fmt.Errorf("%s is neither a file nor a folder; give a file, a folder or an address", p.Lexical)
	}
	return p.Real, nil
}

// Opener is the program of a system that opens files and addresses, with its arguments before them.
func Opener(system string) []string {
	switch system {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}

// openWait is how long the opener may take to say that it failed. One that is still there then has opened the target.
const openWait = 3 * time.Second

func (e *Programs) open(ctx context.Context, target, dir string) (*agent.Result, error) {
	argv := Opener(runtime.GOOS)
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, fmt.Errorf("nothing can be opened on this machine: the program %s is not there. Ask the user to open %s",
			argv[0], target)
	}
	var out bytes.Buffer
	p, err := e.Runner.Start(context.WithoutCancel(ctx), sandbox.Spec{
		Argv: append(argv, target), Dir: dir, Stdout: &out, Stderr: &out, Leave: runtime.GOOS != "windows",
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-p.Done():
		if exit := p.Wait(); exit.Code != 0 {
			return nil, fmt.Errorf("%s could not be opened (%s: exit code %d): %s. Ask the user to open it", target, argv[0],
				exit.Code, strings.TrimSpace(out.String()))
		}
	case <-time.After(openWait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r := agent.TextResult("Opened for the user.")
	r.Title, r.View, r.Meta = target, event.TextView{Summary: "opened"}, map[string]any{"target": target}
	return r, nil
}
