package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// A verdict says how a key in a repository's file is treated.
type verdict int

const (
	held  verdict = iota // counts once the folder is trusted; the verdict for unlisted keys
	free                 // counts at once: it restricts, or cannot do harm
	never                // dropped with a warning, trusted or not
)

// projectRules say which keys a project's file may set; the first match counts. A pattern ending in "**"
// covers everything below it.
var projectRules = []struct {
	verdict verdict
	pattern string
}{
	// These could divert the user's keys or conversations.
	{never, "apiKeyHelper"},
	{never, "apiKeyHelperTtlMs"},
	{never, "apiBase"},
	{never, "organizationUrl"},
	{never, "network.**"},
	{never, "webSearch.**"},
	{never, "notifications.**"},
	{never, "gateway.**"},
	// This one decides whose messages begin turns.
	{never, "crossSessionInbound"},
	{never, "modelsUrl"},
	{never, "autoMode.**"}, // these loosen what a model allows
	{never, "pluginConfigs.**"},
	{held, "providers.*.models.**"},
	{never, "providers.**"},
	// This one removes debug recordings of all projects.
	{never, "cleanupPeriodDays"},

	{free, "$schema"},
	{free, "version"},
	{held, "model"}, // the models also judge: calls in the mode auto, hooks that ask a model, the gate of judges
	{held, "smallModel"},
	{held, "fallbackModel"},
	{held, "modelAliases.**"},
	{free, "effort"},
	{free, "maxThinkingTokens"},
	{free, "maxOutputTokens"},
	{free, "permissions.ask"},
	{free, "permissions.deny"},
	{free, "permissions.disableBypassPermissionsMode"},
	{free, "permissions.disableAutoMode"},
	{free, "disabledMcpjsonServers"},
	{free, "outputStyle"},
	{free, "language"},
	{free, "theme"},
	{free, "prefersReducedMotion"},
	{free, "autoCompactEnabled"},
	{free, "compactionThreshold"},
	{free, "compactionModel"},
	{held, "claudeTranscripts"}, // it copies conversations to another place
	{free, "includeGitInstructions"},
	{free, "exploreCache.**"},
	{held, "lsp.servers.**"}, // they run programs
	{held, "lsp.enabled"},
	{free, "lsp.**"},
	{free, "formatters.timeoutMs"},
	{held, "subagents.model"},
	{free, "subagents.**"},
	{held, "agent"}, // it takes the place of the system prompt
	{held, "bash.shell"},
	{held, "maskKeys"},
	{held, "bash.scrubCredentials"}, // a project must not remove the protection
	{held, "bash.profile"},          // functions of the user may represent programs
	{free, "bash.**"},
	{free, "background.**"},
	{free, "stream.**"},
}

// judge returns the verdict for the value at p.
func judge(p keyPath, n *node) verdict {
	switch {
	case p.matches("permissions", "defaultMode"):
		return judgeMode(n.text)
	case p.matches("permissions", "rules", "*"):
		if action := n.get("action"); action != nil && action.text == "deny" {
			return free // the last match wins: a deny cannot weaken the user's rules
		}
		return held
	case p.matches("permissions", "askBeforeCommands"):
		if n.kind == 't' {
			return free
		}
		return never
	case p.matches("plansDirectory"):
		return judgePlans(n.text)
	case p.under("sandbox"):
		return judgeSandbox(p, n)
	case p.matches("env", "*"):
		if protectedVariable(p[1]) {
			return never
		}
		return held
	}
	for _, r := range projectRules {
		if pattern, all := strings.CutSuffix(r.pattern, ".**"); all && p.under(strings.Split(pattern, ".")...) ||
			!all && p.matches(strings.Split(pattern, ".")...) {
			return r.verdict
		}
	}
	return held
}

// judgePlans lets a project keep plans among its own documents, and not where agents or programs read their settings.
func judgePlans(dir string) verdict {
	hidden := func(name string) bool { return len(name) > 1 && name[0] == '.' }
	if !filepath.IsLocal(dir) || slices.ContainsFunc(strings.Split(filepath.ToSlash(dir), "/"), hidden) {
		return never
	}
	return held
}

// judgeSandbox lets a project narrow the sandbox, once trusted, and never widen it.
func judgeSandbox(p keyPath, n *node) verdict {
	switch {
	case p.matches("sandbox", "autoAllowBashIfSandboxed") && n.kind == 'f',
		p.matches("sandbox", "allowUnsandboxedCommands") && n.kind == 'f':
		return free
	case (p.matches("sandbox", "enabled") || p.matches("sandbox", "failIfUnavailable") || p.matches("sandbox", "network",
		"strictAllowlist")) && n.kind == 't',
		p.matches("sandbox", "mode") && n.text == "read-only",
		p.matches("sandbox", "filesystem", "denyWrite"), p.matches("sandbox", "filesystem", "denyRead"),
		p.matches("sandbox", "network", "deniedDomains"):
		return held
	}
	return never
}

func judgeMode(mode string) verdict {
	switch mode {
	case "plan", "dontAsk":
		return free
	case "bypassPermissions", "auto":
		return never
	}
	return held
}

// SecretName reports names of variables and headers with secret values.
func SecretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED", "COOKIE"} {
		if strings.Contains(upper, word) {
			return !strings.HasSuffix(upper, "_TOKENS") && !strings.HasPrefix(upper, "KEYBOARD")
		}
	}
	for _, end := range []string{"_PAT", "_PWD", "_DSN", "DATABASE_URL", "CONNECTION_STRING"} { // GH_PAT, MYSQL_PWD
		if strings.HasSuffix(upper, end) {
			return true
		}
	}
	return false
}

// secretAt reports places whose values are masked.
func secretAt(p keyPath) bool {
	switch {
	case p.under("providers", "*", "apiKey"), p.under("providers", "*", "authToken"), p.matches("webSearch", "apiKey"):
		return true
	case len(p) >= 2 && p[0] == "env", p.under("providers", "*", "headers", "*"),
		p.under("mcpServers", "*", "env", "*"), p.under("mcpServers", "*", "headers", "*"):
		return SecretName(p[len(p)-1])
	}
	return false
}

// forbid removes the keys that a repository may never set from a project's document.
func forbid(root *node, warn func(Warning)) {
	sift(root, nil, func(p keyPath, n *node) bool {
		if judge(p, n) != never {
			return true
		}
		warn(Warning{Origin: n.origin(), Key: p.String(), Text: "a project may not set this; it is left out. " + instead(p)})
		return false
	})
}

func instead(p keyPath) string {
	if p[0] == "env" {
		return "Set the variable in your shell or in your own settings"
	}
	return "Write it in your own settings if you want it"
}

// split divides a project's document into values that count at once and values that wait for trust. Texts
// that contain environment variables always wait.
func split(root *node) (now, later *node) {
	now, later = root.clone(), root
	sift(now, nil, func(p keyPath, n *node) bool { return judge(p, n) == free && keepTexts(p, n, false) })
	sift(later, nil, func(p keyPath, n *node) bool { return judge(p, n) != free || keepTexts(p, n, true) })
	return now, later
}

// keepTexts keeps the values below n that contain environment variables, or those that do not, and reports
// whether any is left. Elements of lists and ordered rules stay whole: a rule without its pattern covers more.
func keepTexts(p keyPath, n *node, fromEnv bool) bool {
	if p.matches("permissions", "rules", "-") {
		return n.usesEnv() == fromEnv
	}
	switch n.kind {
	case '{':
		had := len(n.members) > 0
		n.filter(func(m member) bool { return keepTexts(p.with(m.key), m.val, fromEnv) })
		return len(n.members) > 0 || !had && !fromEnv
	case '[':
		had := len(n.elems) > 0
		n.elems = slices.DeleteFunc(n.elems, func(e *node) bool { return e.usesEnv() != fromEnv })
		return len(n.elems) > 0 || !had && !fromEnv
	}
	return n.fromEnv == fromEnv
}

// usesEnv reports whether a value in n contains an environment variable.
func (n *node) usesEnv() bool {
	return n.fromEnv || slices.ContainsFunc(n.elems, (*node).usesEnv) || slices.ContainsFunc(n.members,
		func(m member) bool { return m.val.usesEnv() })
}

// sift keeps the parts of n for which keep returns true. It asks for every value that a rule can name:
// everything except objects that rules look inside, and ordered rules one by one.
func sift(n *node, p keyPath, keep func(keyPath, *node) bool) bool {
	switch {
	case n.kind == '{' && descends(p):
		n.filter(func(m member) bool { return sift(m.val, p.with(m.key), keep) })
		return len(n.members) > 0
	case n.kind == '[' && p.matches("permissions", "rules"):
		n.elems = slices.DeleteFunc(n.elems, func(e *node) bool { return !keep(p.with("-"), e) })
		return len(n.elems) > 0
	}
	return keep(p, n)
}

func descends(p keyPath) bool {
	if len(p) == 0 {
		return true
	}
	switch p[0] {
	case "permissions", "env", "attribution", "exploreCache", "snapshots", "eval", "subagents", "worktree", "bash",
		"stream", "network", "log", "watcher", "modelAliases", "lsp", "formatters":
		return len(p) == 1
	case "providers", "sandbox":
		return len(p) <= 2
	}
	return false
}
