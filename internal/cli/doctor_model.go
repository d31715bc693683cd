package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// depth is how many colours stdout shows.
func (s *streams) depth() term.Depth { return term.ColorDepth(os.Getenv, s.outTTY, runtime.GOOS) }

var depthNames = map[term.Depth]string{
	term.NoColor: "no colours", term.Color16: "16 colours", term.Color256: "256 colours", term.TrueColor: "true colour",
}

func (d *doctor) terminal() {
	f, isFile := d.p.out.(*os.File)
	if !(d.p.outTTY || d.inside) || !isFile {
		d.ok("terminal", "stdout is no terminal, TERM=%s", orDash(os.Getenv("TERM")))
		return
	}
	w, h, err := xterm.GetSize(int(f.Fd()))
	size := fmt.Sprintf("%dx%d", w, h)
	what := fmt.Sprintf("%s, %s, TERM=%s", size, depthNames[term.ColorDepth(os.Getenv, true, runtime.GOOS)],
		orDash(os.Getenv("TERM")))
	switch {
	case err != nil || w == 0:
		d.add("terminal", statusWarn, "resize the window, or run stty cols 80 rows 24", "its size is not known, TERM=%s",
			orDash(os.Getenv("TERM")))
	case w < 60 || h < 15:
		d.add("terminal", statusWarn, "make the window at least 60x15", "%s: small", what)
	case os.Getenv("TERM") == "" && runtime.GOOS != "windows":
		d.add("terminal", statusWarn, "set TERM, for example to xterm-256color", "%s", what)
	default:
		d.ok("terminal", "%s", what)
	}
}

// settings reads the settings. When they are broken it continues with the environment and flags alone, so that
// everything else can still be checked.
func (d *doctor) settings() *config.Config {
	cfg, _, err := loadConfig(d.o)
	if err != nil {
		d.add("settings", statusFail, "correct it; lathe config schema lists the allowed values", "%s", err)
		return d.withoutFiles()
	}
	var found []string
	for _, f := range cfg.Files() {
		if f.Found {
			found = append(found, shortHome(f.Path))
		}
	}
	for _, w := range cfg.Warnings {
		next := "correct or remove it"
		if w.Idle {
			next = "do not count on it; other programs may read the file"
		} else if w.Key == "" && holdsBack(cfg, w.Origin.File) {
			next = "look at the file; lathe config trust lets it count"
		}
		d.add("settings", statusWarn, next, "%s", w)
	}
	d.ok("settings", "%s", cmp.Or(strings.Join(found, ", "), "no files, all defaults"))
	return cfg
}

// holdsBack reports whether values of a file wait for the folder to be trusted.
func holdsBack(cfg *config.Config, file string) bool {
	return !cfg.Trusted() && slices.ContainsFunc(cfg.Held(), func(v config.Value) bool { return v.Origin.File == file })
}

// withoutFiles are the settings as if there were no files. They cannot be wrong unless a flag or a variable
// is, which was reported; then there are only defaults.
func (d *doctor) withoutFiles() *config.Config {
	for _, environ := range [][]string{nil, placesOnly(os.Environ())} {
		o := config.Options{Dir: d.o.Dir, Sources: []config.Layer{}, ManagedPaths: []string{}, Environ: environ}
		if cfg, err := config.Load(o); err == nil {
			return cfg
		}
	}
	return &config.Config{}
}

// placesOnly keeps the variables that say where things are.
func placesOnly(environ []string) []string {
	out := []string{}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if name == "HOME" || name == "PATH" || strings.HasPrefix(name, "XDG_") || runtime.GOOS == "windows" {
			out = append(out, kv)
		}
	}
	return out
}

// model checks the model that would be called, its key and its server.
func (d *doctor) model(ctx context.Context, cfg *config.Config) {
	dir, err := filepath.Abs(d.o.Dir)
	if err == nil {
		var inst *conversation.Instance
		if inst, err = conversation.Open(conversation.Options{Config: cfg, Dir: dir}); err == nil {
			defer inst.Close()
			err = d.choice(ctx, cfg, inst)
		}
	}
	switch {
	case errors.Is(err, conversation.ErrNoKey):
		d.add("key", statusWarn, hosts.KeyHint()+"; lathe demo needs none",
			"there is none, so no model can be called")
	case err != nil:
		d.add("model", statusFail, "see lathe config show --origin", "%s", oneLineOf(err))
	}
	if err := llm.CatalogueFault(); err != nil {
		d.add("catalogue", statusWarn, llm.CatalogueRemedy, "%s", oneLineOf(err))
	}
	d.network(cfg)
}

// choice reports key, model and server.
func (d *doctor) choice(ctx context.Context, cfg *config.Config, inst *conversation.Instance) error {
	m, err := inst.Model(ctx, "")
	if err != nil {
		return err
	}
	info := m.Info()
	name, base := inst.Endpoint()
	d.key(cfg, name, base, inst)
	if info.Known {
		d.ok("model", "%s (%s), %d tokens of context", info.ID, name, info.ContextWindow)
	} else {
		d.add("model", statusWarn, "check the name, or describe it under providers."+name+".models",
			"%s (%s) is not in the catalogue, so its limits and prices are guesses", info.ID, name)
	}
	d.server(ctx, cfg, base)
	return nil
}

// key reports the masked key of a provider and its origin.
func (d *doctor) key(cfg *config.Config, provider, base string, inst *conversation.Instance) {
	for _, name := range []string{"apiKey", "authToken"} {
		if value, from, err := cfg.Show(`providers["` + provider + `"].` + name); err == nil {
			d.ok("key", "%s, from %s", plainValue(value), from)
			return
		}
	}
	h, _ := hosts.Named(provider)
	switch variable := h.Variable("apiKey"); {
	case inst.KeySource() != "none":
		d.ok("key", "from %s", inst.KeySource())
	case base == h.Base && variable != "":
		d.add("key", statusWarn, "export "+variable+", or choose another --provider",
			"there is none for %s, and its server wants one", provider)
	default:
		d.ok("key", "none; your own server may not need one")
	}
}

// server tries the model's server when that was asked for. Any answer will do: there is no key in the request.
func (d *doctor) server(ctx context.Context, cfg *config.Config, base string) {
	shown := base
	if u, err := url.Parse(base); err == nil {
		shown = u.Redacted()
	}
	if !d.online {
		d.ok("server", "%s (not tried; --online does)", shown)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	began := d.p.now()
	resp, err := get(ctx, cfg, base)
	if err != nil {
		d.add("server", statusFail, "check the address, the network, and proxy and certificate settings",
			"%s cannot be reached: %s", shown, oneLineOf(err))
		return
	}
	d.ok("server", "%s answered in %s (%s)", shown, d.p.now().Sub(began).Round(time.Millisecond), resp)
}

func get(ctx context.Context, cfg *config.Config, base string) (string, error) {
	client, err := llm.HTTPClient(httpOptions(cfg))
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4096)
	return resp.Status, resp.Body.Close()
}

func httpOptions(cfg *config.Config) llm.HTTPOptions {
	n := cfg.Settings.Network
	return llm.HTTPOptions{Proxy: n.Proxy, NoProxy: strings.Join(n.NoProxy, ","), CACerts: n.CACerts}
}

// network reports the proxies and certificates in force.
func (d *doctor) network(cfg *config.Config) {
	if _, err := llm.HTTPClient(httpOptions(cfg)); err != nil {
		d.add("network", statusFail, "correct network.proxy or network.caCerts, or the variable that sets it", "%s",
			oneLineOf(err))
		return
	}
	var parts []string
	if n := cfg.Settings.Network; n.Proxy != "" {
		parts = append(parts, "proxy "+redacted(n.Proxy))
	} else {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
			if v := os.Getenv(name); v != "" {
				parts = append(parts, name+"="+redacted(v))
			}
		}
	}
	if certs := cfg.Settings.Network.CACerts; len(certs) > 0 {
		parts = append(parts, "certificates of "+strings.Join(unique(certs), ", "))
	}
	d.ok("network", "%s", cmp.Or(strings.Join(parts, "; "), "no proxy, the system's certificates"))
}

// unique drops repeated values.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// redacted hides the password of a URL.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		if at := strings.LastIndexByte(s, '@'); at >= 0 {
			return "***" + s[at:]
		}
		return s
	}
	return u.Redacted()
}

// oneLineOf is an error on one line.
func oneLineOf(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
