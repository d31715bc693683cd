package cloud

import (
	"bytes"
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

var secrets = map[string]string{
	"AKIDENV": "env-secret", "AKIDPROFILE": "profile/secret+", "ASIAROLE": "role-secret",
	"ASIASSO": "sso-secret", "ASIABOX": "box-secret",
}

// verified returns the id of the key that signed a request, or an error. It follows the documentation of the service
// and shares no code with the signer.
func verified(r *http.Request, body []byte, service string) (string, error) {
	auth := strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	fields := map[string]string{}
	for _, f := range strings.Split(auth, ", ") {
		k, v, _ := strings.Cut(f, "=")
		fields[k] = v
	}
	cred := strings.Split(fields["Credential"], "/")
	if len(cred) != 5 || cred[3] != service || cred[4] != "aws4_request" {
		return "", fmt.Errorf("bad credential scope %v", cred)
	}
	names := strings.Split(fields["SignedHeaders"], ";")
	if !sort.StringsAreSorted(names) {
		return "", fmt.Errorf("headers are not in order: %v", names)
	}
	canonical := r.Method + "\n"
	for i, seg := range strings.Split(r.URL.EscapedPath(), "/") {
		if i > 0 {
			canonical += "/"
		}
		for _, c := range []byte(seg) {
			if strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", rune(c)) {
				canonical += string(rune(c))
			} else {
				canonical += fmt.Sprintf("%%%02X", c)
			}
		}
	}
	canonical += "\n" + r.URL.RawQuery + "\n"
	for _, n := range names {
		v := r.Header.Get(n)
		if n == "host" {
			v = r.Host
		}
		canonical += n + ":" + strings.TrimSpace(v) + "\n"
	}
	hash := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }
	canonical += "\n" + fields["SignedHeaders"] + "\n" + hash(body)
	sts := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + strings.Join(cred[1:], "/") + "\n" +
		hash([]byte(canonical))
	key := []byte("AWS4" + secrets[cred[0]])
	for _, p := range append(cred[1:], sts) {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(p))
		key = m.Sum(nil)
	}
	if hex.EncodeToString(key) != fields["Signature"] || secrets[cred[0]] == "" {
		return "", fmt.Errorf("the signature does not match\n%s", canonical)
	}
	return cred[0], nil
}

// vendor is a server of all token services.
type vendor struct {
	*httptest.Server
	calls  int
	public *rsa.PublicKey
}

func serve(t *testing.T) *vendor {
	t.Helper()
	v := &vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v.calls++
		v.answer(w, r, body)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	switch {
	case bytes.Contains(body, []byte("Action=AssumeRole&")):
		id, err := verified(r, body, "sts")
		if err != nil || !bytes.Contains(body, []byte("ExternalId=ext")) {
			http.Error(w, fmt.Sprint(id, err), http.StatusForbidden)
			return
		}
		fmt.Fprintf(w,
			"<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>tok</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>", soon)
	case bytes.Contains(body, []byte("Action=AssumeRoleWithWebIdentity")) && bytes.Contains(body,
		[]byte("WebIdentityToken=web-token")):
		fmt.Fprintf(w,
			"<R><Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>tok</SessionToken><Expiration>%s</Expiration></Credentials></R>", soon)
	case r.URL.Path == "/federation/credentials" && r.Header.Get("X-Amz-Sso_bearer_token") == "sso-token" &&
		r.URL.Query().Get("role_name") == "dev":
		fmt.Fprintf(w,
			`{"roleCredentials":{"accessKeyId":"ASIASSO","secretAccessKey":"sso-secret","sessionToken":"tok","expiration":%d}}`,
			time.Now().Add(time.Hour).UnixMilli())
	case r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut:
		fmt.Fprint(w, "imds")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds" && strings.HasSuffix(r.URL.Path, "security-credentials/"):
		fmt.Fprint(w, "box")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds", r.URL.Path == "/creds":
		fmt.Fprintf(w,
			`{"Code":"Success","AccessKeyId":"ASIABOX","SecretAccessKey":"box-secret","Token":"tok","Expiration":"%s"}`, soon)
	case bytes.Contains(body, []byte("grant_type=refresh_token&refresh_token=r-1")):
		fmt.Fprintf(w, `{"access_token":"user-token-%d","expires_in":3600}`, v.calls)
	case bytes.Contains(body, []byte("jwt-bearer")) && v.signedJWT(body):
		fmt.Fprint(w, `{"access_token":"service-token","expires_in":"3600"}`)
	case r.Header.Get("Metadata-Flavor") == "Google":
		fmt.Fprint(w, `{"access_token":"machine-token","expires_in":3600}`)
	case r.URL.Path == "/tenant/oauth2/v2.0/token" && bytes.Contains(body, []byte("client_secret=s3")):
		fmt.Fprint(w, `{"access_token":"entra-token","expires_in":3600}`)
	case bytes.Contains(body, []byte("token-exchange")) && bytes.Contains(body, []byte("subject_token=outside&")) &&
		bytes.Contains(body, []byte("audience=pool")):
		fmt.Fprint(w, `{"access_token":"federated-token","expires_in":3600}`)
	case r.URL.Path == "/guarded" && r.Header.Get("Authorization") == "box-token":
		fmt.Fprintf(w, `{"AccessKeyId":"ASIABOX","SecretAccessKey":"box-secret","Token":"tok","Expiration":"%s"}`, soon)
	case r.URL.Path == "/imitate" && (r.Header.Get("Authorization") == "Bearer federated-token" ||
		strings.HasPrefix(r.Header.Get("Authorization"), "Bearer user-token")):
		fmt.Fprintf(w, `{"accessToken":"imitated-token","expireTime":"%s"}`, soon)
	case r.URL.Path == "/subject" && r.Header.Get("Metadata") == "True":
		fmt.Fprint(w, `{"value":"outside"}`)
	default:
		http.Error(w, "no: "+string(body), 400)
	}
}

func (v *vendor) signedJWT(body []byte) bool {
	_, jwt, _ := strings.Cut(string(body), "assertion=")
	jwt, _, _ = strings.Cut(jwt, "&")
	part := strings.Split(jwt, ".")
	if len(part) != 3 {
		return false
	}
	sig, err := base64.RawURLEncoding.DecodeString(part[2])
	sum := sha256.Sum256([]byte(part[0] + "." + part[1]))
	claims, err2 := base64.RawURLEncoding.DecodeString(part[1])
	var c struct{ Iss, Aud, Scope string }
	return err == nil && err2 == nil && json.Unmarshal(claims, &c) == nil && c.Iss == "robot@p" &&
		c.Aud == "https://audience" && c.Scope != "" &&
		rsa.VerifyPKCS1v15(v.public, crypto.SHA256, sum[:], sig) == nil
}

func options(t *testing.T, v *vendor, env map[string]string) Options {
	t.Helper()
	home := t.TempDir()
	return Options{
		Getenv: func(name string) string {
			if name == "HOME" && env["HOME"] == "" {
				return home
			}
			return env[name]
		},
		STS: v.URL, SSO: v.URL, Metadata: v.URL, Login: v.URL,
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const bedrock = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/invoke-with-response-stream"

func prepared(t *testing.T, p llm.Prepare, refused *llm.Refusal) (*llm.Outgoing, error) {
	t.Helper()
	body := &llm.Body{}
	body.AppendString(`{"messages":[{"content":"é"}]}`)
	out := &llm.Outgoing{
		URL: bedrock, Header: http.Header{"Content-Type": {"application/json"}, "User-Agent": {"lathe"}},
		Body: body, Refused: refused,
	}
	return out, p(context.Background(), out)
}

func TestRequestsToBedrockAreSignedWithTheFirstCredentialsThatThereAre(t *testing.T) {
	v := serve(t)
	profiles := t.TempDir()
	write(t, filepath.Join(profiles, "config"), "[default]\nregion = eu-west-1\n[profile role]\nrole_arn = "+
		"arn:x\nsource_profile = base\nexternal_id = ext\n[profile sso]\nsso_session = corp\nsso_account_id = "+
		"1\nsso_role_name = dev\n[sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://x\n[profile "+
		"loop]\nrole_arn = a\nsource_profile = loop2\n[profile loop2]\nrole_arn = a\nsource_profile = loop\n[profile "+
		"process]\ncredential_process = x\n")
	write(t, filepath.Join(profiles, "credentials"),
		"# keys\n[base]\naws_access_key_id=AKIDPROFILE\naws_secret_access_key = profile/secret+\n")
	sum := sha1.Sum([]byte("corp"))
	write(t, filepath.Join(profiles, ".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json"),
		`{"accessToken":"sso-token","expiresAt":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	write(t, filepath.Join(profiles, "web"), "web-token\n")
	files := func(extra ...string) map[string]string {
		env := map[string]string{
			"AWS_CONFIG_FILE":             filepath.Join(profiles, "config"),
			"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(profiles, "credentials"), "HOME": profiles,
		}
		for i := 0; i < len(extra); i += 2 {
			env[extra[i]] = extra[i+1]
		}
		return env
	}
	for _, row := range []struct {
		name, want string
		env        map[string]string
	}{
		{"keys of the environment", "AKIDENV", files("AWS_ACCESS_KEY_ID", "AKIDENV", "AWS_SECRET_ACCESS_KEY", "env-secret",
			"AWS_PROFILE", "base")},
		{"keys of a profile", "AKIDPROFILE", files("AWS_PROFILE", "base")},
		{"a role of a profile", "ASIAROLE", files("AWS_PROFILE", "role")},
		{"single sign-on", "ASIASSO", files("AWS_PROFILE", "sso")},
		{"a web identity", "ASIAROLE", files("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(profiles, "web"), "AWS_ROLE_ARN",
			"arn:y")},
		{"a container", "ASIABOX", map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/creds"}},
		{"a machine", "ASIABOX", map[string]string{}},
	} {
		o := options(t, v, row.env)
		sign := AWS(o, "us-east-1")
		out, err := prepared(t, sign, nil)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		r := httptest.NewRequest(http.MethodPost, out.URL, nil)
		r.Header = out.Header
		if id, err := verified(r, out.Body.Bytes(), "bedrock"); err != nil || id != row.want {
			t.Errorf("%s: %s %v", row.name, id, err)
		}
		before := v.calls
		if _, err := prepared(t, sign, nil); err != nil || v.calls != before {
			t.Errorf("%s: the credentials were looked for again: %v", row.name, err)
		}
	}
	for name, hint := range map[string]string{"loop": "leads back", "process": "commands for credentials"} {
		if _, err := prepared(t, AWS(options(t, v, files("AWS_PROFILE", name)), "us-east-1"), nil); err == nil ||
			!strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := AWSRegion(options(t, v, files())); got != "eu-west-1" {
		t.Errorf("the region of the profile is %q", got)
	}
}

func TestTheBearerKeyOfBedrockIsSentAsItIs(t *testing.T) {
	v := serve(t)
	p := AWS(options(t, v, map[string]string{
		"AWS_BEARER_TOKEN_BEDROCK": "bk-1", "AWS_ACCESS_KEY_ID": "AKIDENV",
		"AWS_SECRET_ACCESS_KEY": "env-secret",
	}), "us-east-1")
	out, err := prepared(t, p, nil)
	if err != nil || out.Header.Get("Authorization") != "Bearer bk-1" || out.Header.Get("X-Amz-Date") != "" {
		t.Errorf("%v %v", out.Header, err)
	}
	if _, err := prepared(t, p, &llm.Refusal{Err: &llm.Error{Message: "no"}}); err == nil {
		t.Error("a refused key is sent again")
	}
}

func TestWithoutCredentialsTheErrorSaysWhatToDo(t *testing.T) {
	o := options(t, serve(t), map[string]string{"AWS_EC2_METADATA_DISABLED": "true"})
	_, err := prepared(t, AWS(o, "us-east-1"), nil)
	if e := llm.AsError(err); e == nil || e.Kind != llm.KindAuth || !strings.Contains(e.Hint, "aws sso login") {
		t.Errorf("%v", err)
	}
}

func TestTokensForGoogleCloudAreFoundKeptAndRenewed(t *testing.T) {
	v := serve(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	v.public = &key.PublicKey
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	service, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "robot@p", "token_uri": "https://audience",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "service.json"), string(service))
	write(t, filepath.Join(dir, ".config", "gcloud", "application_default_credentials.json"),
		`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r-1"}`)
	write(t, filepath.Join(dir, "odd.json"), `{"type":"gdch_service_account"}`)
	for name, row := range map[string]struct {
		want string
		env  map[string]string
	}{
		"a user": {"Bearer user-token-", map[string]string{"HOME": dir}},
		"a service account": {"Bearer service-token", map[string]string{
			"HOME":                           dir,
			"GOOGLE_APPLICATION_CREDENTIALS": filepath.Join(dir, "service.json"),
		}},
		"a machine": {"Bearer machine-token", map[string]string{}},
	} {
		p := Google(options(t, v, row.env))
		out, err := prepared(t, p, nil)
		if err != nil || !strings.HasPrefix(out.Header.Get("Authorization"), row.want) {
			t.Errorf("%s: %v %v", name, out.Header, err)
			continue
		}
		before := v.calls
		if _, err := prepared(t, p, nil); err != nil || v.calls != before {
			t.Errorf("%s: the token was fetched again: %v", name, err)
		}
		if _, err := prepared(t, p, &llm.Refusal{Err: &llm.Error{}}); err != nil || v.calls != before+1 {
			t.Errorf("%s: a refused token was not renewed: %v", name, err)
		}
	}
	_, err = prepared(t, Google(options(t, v, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": filepath.Join(dir,
		"odd.json")})), nil)
	if err == nil || !strings.Contains(err.Error(), "gdch_service_account") {
		t.Errorf("%v", err)
	}
}

func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	v := serve(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".config", "gcloud", "application_default_credentials.json"),
		`{"type":"authorized_user","refresh_token":"r-1"}`)
	now := time.Now()
	o := options(t, v, map[string]string{"HOME": dir})
	o.Now = func() time.Time { return now }
	p := Google(o)
	for i, later := range []time.Duration{0, 57 * time.Minute, 59 * time.Minute} {
		now = now.Add(later)
		if _, err := prepared(t, p, nil); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 2}[i]; v.calls != want {
			t.Errorf("after %s: %d calls, want %d", later, v.calls, want)
		}
	}
}

func TestEntraGivesTokensForAzure(t *testing.T) {
	v := serve(t)
	if Entra(options(t, v, nil)) != nil {
		t.Error("without variables there is a token")
	}
	for want, env := range map[string]map[string]string{
		"Bearer given":       {"AZURE_OPENAI_AD_TOKEN": "given"},
		"Bearer entra-token": {"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s3"},
	} {
		if out, err := prepared(t, Entra(options(t, v, env)), nil); err != nil || out.Header.Get("Authorization") != want {
			t.Errorf("%v %v", out.Header, err)
		}
	}
}

// output returns an Options.Run that knows one command.
func output(line, text string) func(context.Context, string) ([]byte, error) {
	return func(_ context.Context, got string) ([]byte, error) {
		if got != line {
			return nil, fmt.Errorf("exit code 127; %s", got)
		}
		return []byte(text), nil
	}
}

func TestCredentialsOfAProcessAndOfASourceSign(t *testing.T) {
	v := serve(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".aws", "config"), "[profile process]\ncredential_process = /opt/keys --for "+
		"bedrock\n[profile env]\nrole_arn = arn:x\nexternal_id = ext\ncredential_source = Environment\n[profile "+
		"box]\nrole_arn = arn:x\nexternal_id = ext\ncredential_source = Ec2InstanceMetadata\n")
	for name, want := range map[string]string{"process": "AKIDPROFILE", "box": "ASIAROLE"} {
		o := options(t, v, map[string]string{"HOME": dir, "AWS_PROFILE": name})
		o.Run = output("/opt/keys --for bedrock",
			`{"Version":1,"AccessKeyId":"AKIDPROFILE","SecretAccessKey":"profile/secret+"}`)
		out, err := prepared(t, AWS(o, "us-east-1"), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := httptest.NewRequest(http.MethodPost, out.URL, nil)
		r.Header = out.Header
		if id, err := verified(r, out.Body.Bytes(), "bedrock"); err != nil || id != want {
			t.Errorf("%s: %s %v", name, id, err)
		}
	}
	for text, want := range map[string]string{
		`{"Version":1}`: "printed no credentials",
		`nonsense`:      "printed no credentials",
	} {
		o := options(t, v, map[string]string{"HOME": dir, "AWS_PROFILE": "process"})
		o.Run = output("/opt/keys --for bedrock", text)
		if _, err := prepared(t, AWS(o, "us-east-1"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := prepared(t, AWS(options(t, v, map[string]string{"HOME": dir, "AWS_PROFILE": "env"}), "us-east-1"),
		nil); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID is not set") {
		t.Errorf("%v", err)
	}
}

func TestTokensOfOtherIdentityProvidersAreExchanged(t *testing.T) {
	v := serve(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "token"), "outside\n")
	for name, row := range map[string]struct{ source, more, want string }{
		"a file": {`{"file":"` + filepath.Join(dir, "token") + `"}`, ``, "Bearer federated-token"},
		"an address": {
			`{"url":"` + v.URL +
				`/subject","headers":{"Metadata":"True"},"format":{"type":"json","subject_token_field_name":"value"}}`, ``,
			"Bearer federated-token",
		},
		"a command": {`{"executable":{"command":"/opt/token"}}`, ``, "Bearer federated-token"},
		"for another account": {`{"file":"` + filepath.Join(dir, "token") + `"}`, `,"service_account_impersonation_url":"` +
			v.URL + `/imitate"`, "Bearer imitated-token"},
	} {
		path := filepath.Join(dir, "external.json")
		write(t, path,
			`{"type":"external_account","audience":"pool","subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"`+v.URL+`","credential_source":`+row.source+row.more+`}`)
		o := options(t, v, map[string]string{
			"GOOGLE_APPLICATION_CREDENTIALS":            path,
			"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1",
		})
		o.Run = output("/opt/token", `{"version":1,"success":true,"id_token":"outside"}`)
		if out, err := prepared(t, Google(o), nil); err != nil || out.Header.Get("Authorization") != row.want {
			t.Errorf("%s: %v %v", name, out.Header, err)
		}
		o.Getenv = options(t, v, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": path}).Getenv
		if _, err := prepared(t, Google(o), nil); name == "a command" && (err == nil || !strings.Contains(err.Error(),
			"ALLOW_EXECUTABLES")) {
			t.Errorf("a command runs without leave: %v", err)
		}
	}
}
