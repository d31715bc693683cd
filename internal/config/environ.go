package config

import (
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// envKey is a variable and the key it sets. A leading "!" inverts a boolean.
type envKey struct{ name, key string }

// envKeys lists the variables that set keys. If two set the same key, the earlier row wins; lists are joined.
func envKeys() []envKey {
	out := slices.Clone(ownKeys)
	for _, h := range hosts.Table {
		section := "providers." + h.Name
		if strings.Contains(h.Name, "-") {
			section = "providers[" + strconv.Quote(h.Name) + "]"
		}
		for _, v := range h.Vars {
			out = append(out, envKey{v.Name, section + "." + v.Setting})
		}
	}
	return out
}

// ownKeys are the variables that belong to no provider.
var ownKeys = []envKey{
	{"LATHE_MODEL", "model"},
	{"ANTHROPIC_MODEL", "model"},
	{"ANTHROPIC_SMALL_FAST_MODEL", "smallModel"},
	{"ANTHROPIC_DEFAULT_OPUS_MODEL", "modelAliases.opus"},
	{"ANTHROPIC_DEFAULT_SONNET_MODEL", "modelAliases.sonnet"},
	{"ANTHROPIC_DEFAULT_HAIKU_MODEL", "modelAliases.haiku"},
	{"LATHE_EFFORT", "effort"},
	{"CLAUDE_CODE_EFFORT_LEVEL", "effort"},
	{"MAX_THINKING_TOKENS", "maxThinkingTokens"},
	{"ANTHROPIC_MAX_OUTPUT_TOKENS", "maxOutputTokens"},
	{"ANTHROPIC_MAX_TOKENS", "maxOutputTokens"},
	{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "maxOutputTokens"},
	{"CLAUDE_CODE_MAX_TURNS", "maxTurns"},
	{"CLAUDE_CODE_SUBAGENT_MODEL", "subagents.model"},
	{"CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "subagents.maxConcurrent"},

	{"LATHE_PROVIDER", "provider"},
	{"LATHE_API_BASE", "apiBase"},
	{"CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "apiKeyHelperTtlMs"},
	{"LATHE_ORG_URL", "organizationUrl"},

	{"LATHE_SHELL", "bash.shell"},
	{"CLAUDE_CODE_SHELL", "bash.shell"},
	{"BASH_DEFAULT_TIMEOUT_MS", "bash.defaultTimeoutMs"},
	{"BASH_MAX_TIMEOUT_MS", "bash.maxTimeoutMs"},
	{"BASH_MAX_OUTPUT_LENGTH", "bash.maxOutputLength"},
	{"CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "bash.backgroundWaitMs"},
	{"CLAUDE_STREAM_IDLE_TIMEOUT_MS", "stream.stallTimeoutMs"},
	{"CLAUDE_CODE_MAX_RETRIES", "stream.maxRetries"},
	{"ANTHROPIC_COMPACTION_THRESHOLD", "compactionThreshold"},
	{"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "!autoMemoryEnabled"},
	{"DISABLE_AUTO_COMPACT", "!autoCompactEnabled"},
	{"DISABLE_COMPACT", "!autoCompactEnabled"},

	{"NODE_EXTRA_CA_CERTS", "network.caCerts"},
	{"SSL_CERT_FILE", "network.caCerts"},
	{"LATHE_LOG", "log.level"},
	{"LATHE_DEBUG", "debug"},
	{"CODINGAGENT_DEBUG", "debug"},
}

// environment is a set of variables, with names in the case that the system compares.
type environment map[string]string

func newEnvironment(environ []string) environment {
	env := make(environment, len(environ))
	for _, kv := range environ {
		if i := strings.IndexByte(kv, '='); i > 0 {
			env[envName(kv[:i])] = kv[i+1:]
		}
	}
	return env
}

func envName(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func (e environment) lookup(name string) (string, bool) {
	v, ok := e[envName(name)]
	return v, ok
}

// envLayer converts variables to settings. An empty variable counts as unset. An invalid value is a warning,
// as it may be meant for another program, but an error in one of lathe's own variables.
func (l *loader) envLayer(lookup func(name string) (*node, bool)) (*node, error) {
	root := object(&source{layer: Environment})
	for _, row := range slices.Backward(envKeys()) {
		n, ok := lookup(row.name)
		if !ok || n.text == "" {
			continue
		}
		key, negated := strings.CutPrefix(row.key, "!")
		if err := l.envKey(root, n, key, negated); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func (l *loader) envKey(root, n *node, key string, negated bool) error {
	path, err := parsePath(key)
	if err != nil {
		return err
	}
	s := rootSchema().find(path)
	if s.items != nil && s.items.format == "path" {
		*n = node{kind: '[', elems: []*node{stringNode(n.text, n.src, n.off)}, src: n.src, off: n.off}
	}
	c := checker{src: n.src, home: l.home}
	// A bad endpoint is never ignored: the key would go to the wrong server.
	own := strings.HasPrefix(n.src.name, "LATHE_") || s.format == "url"
	c.src.foreign = !own
	if !c.value(s, n, path) {
		if own {
			c.problems[0].Hint = "change or unset the variable"
			return c.problems[0]
		}
		l.warn(c.warnings...)
		return nil
	}
	if negated {
		n.kind = map[byte]byte{'t': 'f', 'f': 't'}[n.kind]
	}
	if old := root.at(path); old != nil && n.kind == '[' {
		n.elems = append(n.elems, old.elems...)
	}
	root.put(path, n)
	return nil
}

// secretVariable reports variables whose values are masked; headers may carry a key.
func secretVariable(name string) bool { return SecretName(name) || strings.HasSuffix(name, "_HEADERS") }

// processVariable makes a node from a variable of the process.
func (l *loader) processVariable(name string) (*node, bool) {
	val, ok := l.env.lookup(name)
	if !ok {
		return nil, false
	}
	src := &source{layer: Environment, name: name, base: l.paths.Dir}
	return &node{kind: '"', text: val, src: src, off: -1, loose: true, secret: secretVariable(name)}, true
}

// settingsVariable makes a node from a variable in the env objects that lathe itself obeys.
func (l *loader) settingsVariable(name string) (*node, bool) {
	n := l.settingsEnv.get(name)
	if n == nil {
		return nil, false
	}
	src := *n.src
	src.layer, src.name = SettingsEnv, name
	return &node{kind: '"', text: n.text, src: &src, off: n.off, loose: true, secret: n.secret || secretVariable(name)},
		true
}

// Env returns an environment variable as lathe itself sees it: the env objects of the user, of --settings and
// of managed files win over the process; a project's never count.
func (c *Config) Env(name string) (value string, origin Origin, ok bool) {
	if n := c.settingsEnv.get(name); n != nil {
		o := n.origin()
		o.Layer, o.Name = SettingsEnv, name
		return n.text, o, true
	}
	value, ok = c.env.lookup(name)
	if !ok {
		return "", Origin{}, false
	}
	return value, Origin{Layer: Environment, Name: name}, true
}
