package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func configCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Show and change settings", RunE: needCommand,
		Long: `Settings come, lowest first, from built-in defaults, the organisation, your own files, the project's shared and local files,
the environment, flags, and the machine's administrator. Lists of all of them are joined.`,
	}
	c.AddCommand(configShowCommand(p, o), configSetCommand(p, o), configUnsetCommand(p, o), configTrustCommand(p, o),
		configSchemaCommand(p))
	return c
}

func configShowCommand(p *program, o *Options) *cobra.Command {
	var origin, asJSON bool
	c := &cobra.Command{
		Use: "show [KEY]", Short: "Print the settings in force, secrets masked",
		Long: "Print the settings in force, or the value of one key (dotted: permissions.allow). Secrets are masked.",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("see "+c.CommandPath()+" --help", "%s takes one key at most", c.CommandPath())
			}
			o.set = c.Flags().Changed
			cfg, _, err := loadConfig(o)
			if err != nil {
				return err
			}
			p.warn(cfg)
			if len(args) == 1 {
				return p.showKey(cfg, args[0], origin, asJSON)
			}
			return p.showConfig(cfg, origin, asJSON)
		},
	}
	c.Flags().BoolVar(&origin, "origin", false, "say where each value was written")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// showConfig prints all values: a table, the merged object, or with origins a list of values.
func (p *program) showConfig(cfg *config.Config, origin, asJSON bool) error {
	values := cfg.Explain()
	switch {
	case asJSON && origin:
		return writeJSON(p.out, struct {
			Values   []config.Value   `json:"values"`
			Files    []config.File    `json:"files"`
			Warnings []config.Warning `json:"warnings"`
		}{values, cfg.Files(), append([]config.Warning{}, cfg.Warnings...)})
	case asJSON:
		_, err := p.out.Write(cfg.JSON())
		return err
	}
	var rows [][]string
	for _, v := range values {
		row := []string{v.Path, string(v.JSON)}
		if origin {
			row = append(row, v.Origin.String()+shadows(v))
		}
		rows = append(rows, row)
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

// shadows names the places that a value won over.
func shadows(v config.Value) string {
	if len(v.Shadowed) == 0 {
		return ""
	}
	var over []string
	for _, s := range v.Shadowed {
		over = append(over, s.String())
	}
	return " (over " + strings.Join(over, ", ") + ")"
}

// showKey prints one value: a text as it is, anything else as JSON.
func (p *program) showKey(cfg *config.Config, key string, origin, asJSON bool) error {
	value, from, err := cfg.Show(key)
	if err != nil {
		code := exitUsage
		if errors.Is(err, config.ErrNotSet) {
			code = exitFailed
		}
		return &Error{Code: code, Err: err}
	}
	if asJSON && origin {
		return writeJSON(p.out, struct {
			Key    string          `json:"key"`
			Value  json.RawMessage `json:"value"`
			Origin config.Origin   `json:"origin"`
		}{key, value, from})
	}
	text := string(term.EscapeJSON(value))
	if !asJSON {
		text = term.Escape(plainValue(value))
		if origin {
			text += "  " + term.EscapeLine(from.String())
		}
	}
	_, err = fmt.Fprintln(p.out, text)
	return err
}

func plainValue(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// completeKeys offers the keys that are set, and the scopes.
func completeKeys(o *Options) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		cfg, _, err := loadConfig(o)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, v := range cfg.Explain() {
			if key, _, _ := strings.Cut(v.Path, "["); strings.HasPrefix(key, begun) &&
				(len(out) == 0 || out[len(out)-1] != key) {
				out = append(out, term.EscapeLine(key))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func completeScopes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"user", "project", "local"}, cobra.ShellCompDirectiveNoFileComp
}

// configEdit is set or unset: one key of one scope's file.
type configEdit struct {
	cfg   *config.Config
	scope config.Layer
}

func openEdit(c *cobra.Command, o *Options, scope string) (configEdit, error) {
	layer, err := config.ParseScope(scope)
	if err != nil {
		return configEdit{}, usage("use user, project or local", "--scope: %q is not a scope", scope)
	}
	o.set = c.Flags().Changed
	cfg, _, err := loadConfig(o)
	return configEdit{cfg, layer}, err
}

func configSetCommand(p *program, o *Options) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "set KEY VALUE", Short: "Write one setting", ValidArgsFunction: completeKeys(o),
		Long: `Write one setting to a settings file: your own, the project's shared one, or the project's local one, which is not for git.
The value is JSON where the key takes that, else plain text. KEY+ appends to a list. Comments and unknown keys of the
file stay; what does not fit the schema is refused before anything is written.`,
		Example: `  lathe config set model claude-sonnet-4-5
  lathe config set permissions.allow+ "Bash(go test *)" --scope project
  lathe config set stream.stallTimeoutMs 120000
  lathe config set -- maxThinkingTokens 0`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage(`quote values with blanks: lathe config set permissions.allow+ "Bash(go test *)"`,
					"%s needs a key and a value, and got %s", c.CommandPath(), plural(len(args), "argument"))
			}
			e, err := openEdit(c, o, scope)
			if err != nil {
				return err
			}
			if err := e.cfg.Set(args[0], args[1], e.scope); err != nil {
				return &Error{Code: exitUsage, Err: err}
			}
			key, appended := strings.CutSuffix(args[0], "+")
			verb := "set"
			if appended {
				verb = "added to"
			}
			return p.edited(o, e, verb, key)
		},
	}
	c.Flags().StringVar(&scope, "scope", "user", "which file: `scope` user, project or local")
	_ = c.RegisterFlagCompletionFunc("scope", completeScopes)
	return c
}

func configUnsetCommand(p *program, o *Options) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "unset KEY", Short: "Remove one setting", ValidArgsFunction: completeKeys(o),
		Long: "Remove one setting from a settings file; the next lower place that sets it, or the default, counts again.",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("lathe config show lists them", "%s needs one key", c.CommandPath())
			}
			e, err := openEdit(c, o, scope)
			if err != nil {
				return err
			}
			if err := e.cfg.Unset(args[0], e.scope); err != nil {
				return &Error{Code: exitUsage, Err: err}
			}
			return p.edited(o, e, "unset", args[0])
		},
	}
	c.Flags().StringVar(&scope, "scope", "user", "which file: `scope` user, project or local")
	_ = c.RegisterFlagCompletionFunc("scope", completeScopes)
	return c
}

// edited names the file that was written, and warns when that changes nothing because another place has
// the last word.
func (p *program) edited(o *Options, e configEdit, verb, key string) error {
	target := e.cfg.Target(e.scope)
	if _, err := fmt.Fprintf(p.out, "%s %s in %s\n", verb, term.EscapeLine(key), term.EscapeLine(target)); err != nil {
		return err
	}
	cfg, _, err := loadConfig(o)
	if err != nil {
		return err
	}
	_, from, ok := cfg.Get(key)
	switch {
	case verb != "set" || ok && from.File == target:
	case !ok || from.Layer <= e.scope:
		fmt.Fprintf(p.err, "%s: it counts once this folder is trusted; see lathe config trust\n", messagesName)
	default:
		fmt.Fprintf(p.err, "%s: it has no effect here: %s sets it too, and wins\n", messagesName,
			term.EscapeLine(from.String()))
	}
	return nil
}

func configSchemaCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of settings files", Args: noArgs,
		Long: "Print the JSON Schema of settings files, for editors: save it, and name it as \"$schema\" in a settings file.",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, strings.TrimRight(string(config.Schema()), "\n"))
			return err
		},
	}
}
