package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// conformanceVersion is the version of @modelcontextprotocol/conformance whose scenarios are listed below.
const conformanceVersion = "0.2.0-alpha.12"

// Why scenarios are not passed.
const (
	// Tokens that are bound to a key (RFC 9449) need a proof for each request of the transport, and a nonce for its next
	// one; bearer tokens are what servers give today, and stay bound to their server and issuer here.
	noDPoP         = "lathe sends bearer tokens, and the extension for tokens bound to a key is a draft"
	noSchemaName   = "lathe takes $schema out of what models get, since some providers refuse it"
	noServerSkills = "lathe takes skills from files and plugins, and the extension for skills of servers is a draft"
)

// conformance are the suite's scenarios for clients. A reason says why one is not passed.
var conformance = map[string]string{
	"initialize": "", "tools_call": "", "sse-retry": "",
	"elicitation-sep1034-client-defaults":       "",
	"auth/metadata-default":                     "",
	"auth/metadata-var1":                        "",
	"auth/metadata-var2":                        "",
	"auth/metadata-var3":                        "",
	"auth/basic-cimd":                           "",
	"auth/scope-from-www-authenticate":          "",
	"auth/scope-from-scopes-supported":          "",
	"auth/scope-omitted-when-undefined":         "",
	"auth/scope-step-up":                        "",
	"auth/scope-retry-limit":                    "",
	"auth/token-endpoint-auth-basic":            "",
	"auth/token-endpoint-auth-post":             "",
	"auth/token-endpoint-auth-none":             "",
	"auth/pre-registration":                     "",
	"auth/2025-03-26-oauth-metadata-backcompat": "",
	"auth/2025-03-26-oauth-endpoint-fallback":   "",
	"auth/resource-mismatch":                    "",
	"auth/offline-access-scope":                 "",
	"auth/offline-access-not-supported":         "",
	"auth/client-credentials-jwt":               "",
	"auth/client-credentials-basic":             "",
	"request-metadata":                          "",
	"auth/authorization-server-migration":       "",
	"auth/iss-supported":                        "",
	"auth/iss-not-advertised":                   "",
	"auth/iss-supported-missing":                "",
	"auth/iss-wrong-issuer":                     "",
	"auth/iss-unexpected":                       "",
	"auth/iss-normalized":                       "",
	"auth/metadata-issuer-mismatch":             "",
	"auth/enterprise-managed-authorization":     "",
	"auth/dpop":                                 noDPoP,
	"auth/dpop-nonce":                           noDPoP,
	"auth/wif-jwt-bearer":                       "",
	"sep-2322-client-request-state":             "",
	"http-standard-headers":                     "",
	"http-custom-headers":                       "",
	"http-invalid-tool-headers":                 "",
	"json-schema-ref-no-deref":                  "",
	"json-schema-2020-12-preservation":          noSchemaName,
	"sep-2640-client-no-prefetch":               noServerSkills,
	"sep-2640-client-verify-digest":             noServerSkills,
	"sep-2640-client-verify-size":               noServerSkills,
	"sep-2640-client-verify-frontmatter":        noServerSkills,
}

func TestTheOfficialConformanceSuitePasses(t *testing.T) {
	suite := npmProgram(t, "@modelcontextprotocol/conformance", conformanceVersion, "dist/index.js")
	known := suite.run(t, nil, "list", "--client")
	missing := maps.Clone(conformance)
	for line := range strings.Lines(known) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			name, _, _ = strings.Cut(name, " ")
			if _, listed := conformance[name]; !listed {
				t.Errorf("the suite has a scenario %s, which is not listed here", name)
			}
			delete(missing, name)
		}
	}
	for name := range missing {
		t.Errorf("the suite does not list the scenario %s: %s", name, known)
	}
	for name, reason := range conformance {
		t.Run(name, func(t *testing.T) {
			if reason != "" {
				t.Skip(reason)
			}
			t.Parallel()
			tries := 1
			if name == "sse-retry" {
				tries = 3 // the suite measures time, which a busy machine spoils
			}
			for ; ; tries-- {
				out, err := suite.command(t, []string{"TEST_MCP_SERVER=conformance"}, "client", "--command", os.Args[0],
					"--scenario", name, "--timeout", "60000", "-o", t.TempDir()).CombinedOutput()
				if err == nil && passed().Match(out) {
					return
				}
				if tries == 1 {
					t.Fatalf("%v\n%s", err, out)
				}
			}
		})
	}
}

// passed is the summary of a scenario that checked something and found no fault.
var passed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Passed: ([1-9]\d*)/([1-9]\d*), 0 failed, 0 warnings`)
})

// npm is an installed program of the npm registry.
type npm struct{ node, script string }

// npmProgram finds a package in LATHE_NPM, a folder in which it was installed, and skips the test where it is not.
func npmProgram(t *testing.T, name, version, script string) npm {
	t.Helper()
	dir := os.Getenv("LATHE_NPM")
	if dir == "" {
		t.Skipf("LATHE_NPM names no folder with npm install %s@%s node@22", name, version)
	}
	p := npm{filepath.Join(dir, "node_modules", ".bin", "node"), filepath.Join(dir, "node_modules",
		filepath.FromSlash(name), filepath.FromSlash(script))}
	var pkg struct {
		Version string `json:"version"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json"))
	if err != nil || json.Unmarshal(data, &pkg) != nil || pkg.Version != version {
		t.Skipf("%s has no %s of the version %s (%q): npm install it there", dir, name, version, pkg.Version)
	}
	if _, err := os.Stat(p.node); err != nil {
		t.Skipf("%v: npm install node@22 there", err)
	}
	return p
}

func (p npm) command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), p.node, append([]string{p.script}, args...)...)
	c.Env = append(os.Environ(), env...)
	return c
}

func (p npm) run(t *testing.T, env []string, args ...string) string {
	t.Helper()
	out, err := p.command(t, env, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// conformant is the client that the suite starts with the address of its server: a set of servers as lathe has it, and
// a user whose browser consents to everything.
func conformant() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := conform(ctx, os.Args[len(os.Args)-1], os.Getenv("MCP_CONFORMANCE_SCENARIO")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func conform(ctx context.Context, url, scenario string) error {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	e, err := conformanceEntry(url, scenario, dir)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": e}})
	if err != nil {
		return err
	}
	runner := sandbox.New()
	defer runner.Close()
	set := mcp.New(mcp.Options{
		Places: func() entry.Places { return entry.Places{Flags: []string{string(config)}, Strict: true} },
		Dir:    dir, Root: dir, StateHome: dir, Runner: runner, Environ: os.Environ, Version: "1",
		Logins: func() *keyring.Store { return keyring.Open(filepath.Join(dir, "logins"), nil) },
		Variable: func(name string) string {
			return conformanceContext()[strings.ToLower(strings.TrimPrefix(name, "MCP_"))]
		},
	})
	defer set.Close()
	view := set.Join(conformanceSeat())
	if _, err := view.Hook().Run(ctx); err != nil {
		return err
	}
	return conformanceCalls(ctx, set, view)
}

// conformanceCalls calls every tool once, and logs in where the server wants it, at most twice.
func conformanceCalls(ctx context.Context, set *mcp.Set, view *mcp.View) error {
	logins := 0
	for {
		st := set.Status()[0]
		if st.State == mcp.Connected {
			if err := callAll(ctx, view); err != nil {
				return err
			}
			st = set.Status()[0]
		}
		switch {
		case st.State == mcp.Connected:
			return nil
		case st.State != mcp.NeedsAuth || logins == 2:
			return fmt.Errorf("%s after %d logins: %s", st.State, logins, st.Err)
		}
		logins++
		err := set.Login(ctx, "s", mcp.Browser{Open: visit})
		if err != nil && (logins == 2 || set.Status()[0].State != mcp.NeedsAuth) {
			return err // else the user does what the message says: logs in again
		}
	}
}

func callAll(ctx context.Context, view *mcp.View) error {
	sent, found := view.Tools(200_000, func(string) bool { return false })
	for _, tool := range append(sent, found...) {
		if !strings.HasPrefix(tool.Spec().Name, mcp.Prefix) {
			continue // one of lathe's
		}
		for _, input := range conformanceInputs(tool, append(sent, found...)) {
			if err := callOnce(ctx, tool, input); err != nil {
				return err
			}
		}
	}
	return nil
}

// conformanceInputs are the inputs that the suite wants to see: those of its context, the schema of another tool, or
// any.
func conformanceInputs(tool agent.Tool, all []agent.Tool) (out []json.RawMessage) {
	var wanted struct {
		Calls []struct {
			Name  string          `json:"name"`
			Input json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted) // most scenarios have none
	for _, c := range wanted.Calls {
		if mcp.ToolName("s", c.Name) == tool.Spec().Name {
			out = append(out, c.Input)
		}
	}
	for _, other := range all {
		if tool.Spec().Name == "mcp__s__json_schema_echo" && strings.HasPrefix(other.Spec().Name, mcp.Prefix) && other != tool {
			out = append(out, json.RawMessage(`{"schema":`+string(other.Spec().Schema)+`}`))
		}
	}
	if len(out) == 0 {
		out = append(out, json.RawMessage(`{"a":2,"b":3}`))
	}
	return out
}

func callOnce(ctx context.Context, tool agent.Tool, input json.RawMessage) error {
	plan, err := tool.Prepare(ctx, llm.ToolCall{
		ID: "toolu_1", Name: tool.Spec().Name, Input: input,
	})
	if err != nil {
		return err
	}
	r, err := plan.Run(ctx)
	if err == nil && r != nil {
		fmt.Println(textOf(r))
	}
	return nil // the state of the server says whether a failure was one of the login
}

// visit is a browser whose user consents.
func visit(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("the browser sees status %d: %s", resp.StatusCode, text)
	}
	return nil
}

func conformanceContext() map[string]string {
	out, all := map[string]string{}, map[string]any{}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &all) // most scenarios have none
	for name, value := range all {
		out[name], _ = value.(string) // the others are of calls
	}
	return out
}

func conformanceEntry(url, scenario, dir string) (map[string]any, error) {
	c := conformanceContext()
	auth := map[string]any{"clientId": c["client_id"]}
	switch scenario {
	case "auth/basic-cimd":
		auth["clientMetadataUrl"] = "https://conformance-test.local/client-metadata.json"
	case "auth/enterprise-managed-authorization":
		auth["grant"] = "cross_app_access"
		auth["identity"] = map[string]any{
			"tokenEndpoint": c["idp_token_endpoint"], "clientId": c["idp_client_id"],
			"tokenFile": filepath.Join(dir, "id-token"),
		}
		if err := os.WriteFile(filepath.Join(dir, "id-token"), []byte(c["idp_id_token"]), 0o600); err != nil {
			return nil, err
		}
	case "auth/wif-jwt-bearer":
		auth["grant"], auth["identity"] = "workload_identity", map[string]any{"tokenFile": filepath.Join(dir, "token")}
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(c["valid_jwt"]), 0o600); err != nil {
			return nil, err
		}
	case "auth/client-credentials-basic":
		auth["grant"] = "client_credentials"
	case "auth/client-credentials-jwt":
		auth["grant"], auth["privateKeyFile"] = "client_credentials", filepath.Join(dir, "key.pem")
		if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte(c["private_key_pem"]), 0o600); err != nil {
			return nil, err
		}
	}
	return map[string]any{"type": "http", "url": url, "oauth": auth}, nil
}

// conformanceSeat is a session whose user accepts what a server asks.
func conformanceSeat() mcp.Seat { return mcp.Seat{Waits: true, Ask: agreeable} }
