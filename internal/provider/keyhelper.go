package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

const (
	helperTimeout = 30 * time.Second
	helperOutput  = 64 << 10 // bytes
)

// keyHelper caches the output of the user's command apiKeyHelper for apiKeyHelperTtlMs.
type keyHelper struct {
	busy chan struct{} // holds one token; concurrent callers share one run
	key  string
	at   time.Time
}

func newKeyHelper() *keyHelper { return &keyHelper{busy: make(chan struct{}, 1)} }

// helped reports whether a provider's key comes from apiKeyHelper. The helper is meant for one server: other
// providers without a key do not get its key.
func (all *Set) helped(name string, p config.Provider) bool {
	s := all.o.Settings()
	h, _ := hostOf(name)
	return s.APIKeyHelper != "" && p.APIKey == "" && p.AuthToken == "" && (h.KeyHelper || name == s.Provider)
}

// helperKey returns the current key; a refused one is not used again.
func (all *Set) helperKey(ctx context.Context, refused string) (string, error) {
	h := all.helper
	select {
	case h.busy <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-h.busy }()
	if h.key != "" && h.key != refused && time.Since(h.at) < millis(all.o.Settings().APIKeyHelperTTLMs) {
		return h.key, nil
	}
	key, err := all.runKeyHelper(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", &llm.Error{
			Kind: llm.KindAuth, Message: err.Error(),
			Hint: "run the command by hand, and correct apiKeyHelper in your settings", Err: err,
		}
	}
	h.key, h.at = key, time.Now()
	return key, nil
}

// runKeyHelper runs apiKeyHelper, the user's command that prints a key.
func (all *Set) runKeyHelper(ctx context.Context) (string, error) {
	out, err := all.runCommand(ctx, all.o.Settings().APIKeyHelper)
	if err != nil {
		return "", fmt.Errorf("apiKeyHelper gave no key: %w", err)
	}
	key := strings.TrimSpace(string(out))
	switch {
	case key == "":
		return "", errors.New("apiKeyHelper gave no key: it printed nothing")
	case strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "", fmt.Errorf("apiKeyHelper printed more than a key: it must print one word and nothing else")
	}
	return key, nil
}

// runCommand runs a command line of the user's that prints credentials, and returns its output.
func (all *Set) runCommand(ctx context.Context, line string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, helperTimeout, fmt.Errorf("it took longer than %s", helperTimeout))
	defer cancel()
	shell, flag := "/bin/sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/c"
	}
	out, errOut := limited{max: helperOutput}, limited{max: helperOutput}
	exit, err := all.o.Runner.Run(ctx, sandbox.Spec{
		Argv: []string{shell, flag, line}, Dir: all.o.Dir, Stdout: &out, Stderr: &errOut, Env: all.o.Env(),
	})
	if err != nil {
		return nil, err
	}
	if exit.Code != 0 {
		return nil, fmt.Errorf("exit code %d; %s", exit.Code, firstLine(errOut.String()))
	}
	return out.Bytes(), nil
}

// limited keeps the first bytes written.
type limited struct {
	bytes.Buffer
	max int
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.max - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "it printed nothing"
	}
	line, _, _ := strings.Cut(s, "\n")
	return llm.Clean(line)
}

// prepare sets the command's key on each attempt. The command runs before the first request, when the key has
// expired, and when the server refused it. For an Anthropic gateway both headers are set: which one it reads
// is unknown.
func (all *Set) prepare(wire string) llm.Prepare {
	return func(ctx context.Context, o *llm.Outgoing) error {
		refused := ""
		if o.Refused != nil {
			refused = strings.TrimPrefix(o.Refused.Header.Get("Authorization"), "Bearer ")
		}
		key, err := all.helperKey(ctx, refused)
		switch {
		case err != nil:
			return err
		case key == refused:
			return o.Refused.Err
		}
		o.Header.Set("Authorization", "Bearer "+key)
		if wire == anthropicWire {
			o.Header.Set("X-Api-Key", key)
		}
		return nil
	}
}
