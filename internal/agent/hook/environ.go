package hook

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// environ is the environment of a command.
func (h *Hooks) environ(handler *Handler, o occasion) []string {
	env := slices.DeleteFunc(slices.Clone(h.m.Environ(handler.place.Foreign)),
		func(kv string) bool { return strings.HasPrefix(kv, "OTEL_") })
	env = append(env, "CLAUDE_PROJECT_DIR="+h.m.Root, "LATHE_PROJECT_DIR="+h.m.Root)
	if e := h.s.Effort(); e != "" {
		env = append(env, "CLAUDE_EFFORT="+string(e))
	}
	if events()[o.event].variables {
		if f := h.envFile(); f != "" {
			env = append(env, "CLAUDE_ENV_FILE="+f)
		}
	}
	if p := handler.place; p.Root != "" {
		env = append(env, "CLAUDE_PLUGIN_ROOT="+p.Root, "CLAUDE_PLUGIN_DATA="+p.Data)
	}
	return append(env, handler.place.Environ...)
}

// number is a variable of the environment, or of the settings, that is a number above 0; else other.
func (h *Hooks) number(name string, other int) int {
	for _, kv := range slices.Backward(h.m.Environ(false)) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			if n, err := strconv.Atoi(v); err == nil && n > 0 {
				return n
			}
			return other
		}
	}
	return other
}

// envFile is the file to which hooks write variables for the commands of the session; "" when there is no room for one.
func (h *Hooks) envFile() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.env == "" {
		f, err := os.CreateTemp("", "lathe-env-*.sh")
		if err != nil {
			return ""
		}
		_ = f.Close()
		h.env = f.Name()
	}
	return h.env
}

// Overlay adds the variables that hooks wrote to their file to an environment.
func (h *Hooks) Overlay(env []string) []string {
	if h == nil {
		return env
	}
	h.mu.Lock()
	file := h.env
	h.mu.Unlock()
	if file == "" {
		return env
	}
	text, err := regular.ReadFile(file)
	if err != nil {
		return env
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := assignment(line); ok {
			env = append(slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") }),
				name+"="+expandFrom(value, env))
		}
	}
	return env
}

// assignment reads a line such as export NAME="value".
func assignment(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
	name, value, ok = strings.Cut(line, "=")
	if !ok || name == "" || strings.ContainsAny(name, " \t#$\"'") {
		return "", "", false
	}
	if n := len(value); n >= 2 && value[0] == '\'' && value[n-1] == '\'' {
		return name, strings.ReplaceAll(value[1:n-1], "$", "$$"), true
	}
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	return name, value, true
}

// expandFrom fills in variables of an environment; $$ is a dollar.
func expandFrom(text string, env []string) string {
	return os.Expand(text, func(name string) string {
		if name == "$" {
			return "$"
		}
		for _, kv := range slices.Backward(env) {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	})
}
