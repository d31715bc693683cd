package cli

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
)

func serveInstallCommand(p *program) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "install", Short: "Have the system start the server when you log in", Args: noArgs,
		Long: "Write a unit for systemd, or on macOS an agent for launchd, that starts lathe serve with the flags given " +
			"here, and say how to start it. Keys of providers are best kept with lathe auth: the system knows nothing of the " +
			"variables of your terminal.",
		RunE: func(*cobra.Command, []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			home, err := os.UserHomeDir()
			if err != nil {
				return usage("set HOME", "there is no home folder")
			}
			path, text, next := unitFor(runtime.GOOS, home, append([]string{self, "serve"}, f.args()...))
			if path == "" {
				return usage("start lathe serve by the means of your system", "there is no unit for %s", runtime.GOOS)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := atomicfile.Write(path, []byte(text), 0o644); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.out, "%s\nstart it: %s\n", path, next)
			return err
		},
	}
	f.add(c.Flags())
	return c
}

// args are the flags as a command line.
func (f *serveFlags) args() (out []string) {
	for _, l := range f.listen {
		out = append(out, "--listen="+l)
	}
	for _, h := range f.hosts {
		out = append(out, "--host="+h)
	}
	for _, x := range []struct{ name, path string }{{"--tls-cert=", f.cert}, {"--tls-key=", f.key}} {
		if x.path == "" {
			continue
		}
		if abs, err := filepath.Abs(x.path); err == nil {
			x.path = abs
		}
		out = append(out, x.name+x.path)
	}
	if f.ownTLS {
		out = append(out, "--tls")
	}
	if f.metrics {
		out = append(out, "--metrics")
	}
	return out
}

// unitFor is the file that has a system start a command, and the command line that starts it now. Sessions outlive
// the server: systemd ends only its own process (systemd.kill(5)), launchd leaves the group alone (launchd.plist(5)).
func unitFor(system, home string, argv []string) (path, text, next string) {
	switch system {
	case "linux":
		var quoted []string
		for _, a := range argv {
			quoted = append(quoted, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(a)+`"`)
		}
		config := os.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(config) {
			config = filepath.Join(home, ".config")
		}
		return filepath.Join(config, "systemd", "user", "lathe-serve.service"),
			"[Unit]\nDescription=lathe serve: the sessions of lathe by HTTP\n\n[Service]\nExecStart=" + strings.Join(quoted, " ") +
				"\nRestart=on-failure\nKillMode=process\n\n[Install]\nWantedBy=default.target\n",
			"systemctl --user enable --now lathe-serve"
	case "darwin":
		var args strings.Builder
		for _, a := range argv {
			args.WriteString("    <string>" + html.EscapeString(a) + "</string>\n")
		}
		path = filepath.Join(home, "Library", "LaunchAgents", "dev.lathe.serve.plist")
		return path, `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>dev.lathe.serve</string>
  <key>ProgramArguments</key>
  <array>
` + args.String() + `  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>AbandonProcessGroup</key><true/>
</dict>
</plist>
`, "launchctl load -w " + path
	}
	return "", "", ""
}
