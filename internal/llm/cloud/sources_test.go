package cloud

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// signer returns the id of the key that signs with the given options, and whether its session token went along.
func signer(t *testing.T, o Options) (id, token string, err error) {
	t.Helper()
	out, err := prepared(t, AWS(o, "us-east-1"), nil)
	if err != nil {
		return "", "", err
	}
	r := httptest.NewRequest(http.MethodPost, out.URL, nil)
	r.Header = out.Header
	id, err = verified(r, out.Body.Bytes(), "bedrock")
	return id, out.Header.Get("X-Amz-Security-Token"), err
}

func TestEachFormOfAnAWSProfileSigns(t *testing.T) {
	v := serve(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "web"), "web-token\n")
	write(t, filepath.Join(dir, "box"), "box-token\n")
	write(t, filepath.Join(dir, ".aws", "config"), `[profile web]
role_arn = arn:x
web_identity_token_file = `+filepath.Join(dir, "web")+`
[profile self]
role_arn = arn:x
external_id = ext
source_profile = self
aws_access_key_id = AKIDPROFILE
aws_secret_access_key = profile/secret+
[profile env]
role_arn = arn:x
external_id = ext
credential_source = Environment
[profile ecs]
role_arn = arn:x
external_id = ext
credential_source = EcsContainer
[profile nowhere]
role_arn = arn:x
credential_source = Moon
[profile old]
sso_start_url = https://old
sso_region = us-east-1
sso_account_id = 1
sso_role_name = dev
; aws_access_key_id = COMMENT
[profile nested]
s3 =
  aws_access_key_id = NESTED
[profile keys]
aws_access_key_id = AKIDPROFILE
aws_secret_access_key = profile/secret+
aws_session_token = of-profile
`)
	write(t, ssoFile(dir, "https://old"), `{"accessToken":"sso-token","expiresAt":"`+
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	for _, row := range []struct{ name, want, token string }{
		{"AWS_PROFILE=web", "ASIAROLE", "tok"},
		{"AWS_PROFILE=self", "ASIAROLE", "tok"},
		{"AWS_PROFILE=ecs AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/creds", "ASIAROLE", "tok"},
		{"AWS_PROFILE=old", "ASIASSO", "tok"},
		{"AWS_PROFILE=keys", "AKIDPROFILE", "of-profile"},
		{"AWS_DEFAULT_PROFILE=keys", "AKIDPROFILE", "of-profile"},
		{"AWS_PROFILE=nested", "ASIABOX", "tok"}, // no keys of its own: those of the machine
		{"AWS_ACCESS_KEY_ID=AKIDENV AWS_SECRET_ACCESS_KEY=env-secret AWS_SESSION_TOKEN=of-env", "AKIDENV", "of-env"},
		{"AWS_ACCESS_KEY_ID=AKIDENV AWS_SECRET_ACCESS_KEY=env-secret", "AKIDENV", ""},
		{"AWS_ACCESS_KEY_ID=AKIDENV AWS_PROFILE=keys", "AKIDPROFILE", "of-profile"}, // half a pair is none
		{
			"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + v.URL + "/guarded AWS_CONTAINER_AUTHORIZATION_TOKEN=box-token", "ASIABOX",
			"tok",
		},
		{"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + v.URL + "/guarded AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=" +
			filepath.Join(dir, "box"), "ASIABOX", "tok"},
	} {
		if id, token, err := signer(t, options(t, v, variables(dir, row.name))); err != nil || id != row.want ||
			token != row.token {
			t.Errorf("%s: signed by %q with the token %q: %v", row.name, id, token, err)
		}
	}
	for row, want := range map[string]string{
		"AWS_PROFILE=nowhere": `no credential_source "Moon"`,
		"AWS_PROFILE=env":     "AWS_ACCESS_KEY_ID is not set",
		"AWS_WEB_IDENTITY_TOKEN_FILE=" + filepath.Join(dir, "gone") +
			" AWS_PROFILE=keys": "web identity token",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + v.URL +
			"/guarded": "answered 400",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + v.URL + "/guarded AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=" +
			filepath.Join(dir, "gone"): "no such file",
		"AWS_PROFILE=nested AWS_EC2_METADATA_DISABLED=TRUE": "no AWS credentials",
	} {
		if _, _, err := signer(t, options(t, v, variables(dir, row))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", row, err)
		}
	}
}

// variables makes an environment of NAME=VALUE words.
func variables(home, words string) map[string]string {
	env := map[string]string{"HOME": home}
	for _, w := range strings.Fields(words) {
		name, value, _ := strings.Cut(w, "=")
		env[name] = value
	}
	return env
}

func ssoFile(home, name string) string {
	sum := sha1.Sum([]byte(name))
	return filepath.Join(home, ".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json")
}

func TestTheSourceEnvironmentGivesTheKeysOfTheVariables(t *testing.T) {
	v := serve(t)
	dir := t.TempDir()
	o := options(t, v, variables(dir, "AWS_ACCESS_KEY_ID=AKIDENV AWS_SECRET_ACCESS_KEY=env-secret"))
	k, err := o.sourced(t.Context(), "Environment")
	if err != nil || k.ID != "AKIDENV" || k.Secret != "env-secret" {
		t.Errorf("%v %v", k, err)
	}
}

func TestAnExpiredSingleSignOnSaysWhatToDo(t *testing.T) {
	v := serve(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".aws", "config"),
		"[default]\nsso_start_url = u\nsso_region = us-east-1\nsso_account_id = 1\nsso_role_name = dev\n")
	now := time.Now()
	for _, text := range []string{
		`{"accessToken":"sso-token","expiresAt":"` + now.Add(-time.Second).UTC().Format(time.RFC3339) + `"}`,
		`{"expiresAt":"` + now.Add(time.Hour).UTC().Format(time.RFC3339) + `"}`,
		`nonsense`,
	} {
		write(t, ssoFile(dir, "u"), text)
		if _, _, err := signer(t, options(t, v, variables(dir, ""))); err == nil || !strings.Contains(err.Error(),
			"run `aws sso login`") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestKeysOfAWSAreRenewedBeforeTheyExpireAndWhenRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".aws", "config"), "[default]\ncredential_process = p\n")
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	runs := 0
	o := options(t, serve(t), variables(dir, ""))
	o.Now = func() time.Time { return now }
	o.Run = func(context.Context, string) ([]byte, error) {
		runs++
		return fmt.Appendf(nil, `{"AccessKeyId":"K%d","SecretAccessKey":"s","SessionToken":"t%d","Expiration":%q}`, runs,
			runs, now.Add(time.Hour).Format(time.RFC3339)), nil
	}
	p := AWS(o, "us-east-1")
	for i, step := range []struct {
		later   time.Duration
		refused *llm.Refusal
		want    int
	}{
		{0, nil, 1},
		{57 * time.Minute, nil, 1},
		{time.Minute + time.Second, nil, 2},
		{0, &llm.Refusal{Err: &llm.Error{}}, 3},
		{0, nil, 3},
	} {
		now = now.Add(step.later)
		out, err := prepared(t, p, step.refused)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.Header.Get("Authorization"), fmt.Sprintf("Credential=K%d/", step.want)) ||
			runs != step.want {
			t.Errorf("step %d: %s after %d runs", i, out.Header.Get("Authorization"), runs)
		}
	}
}

func TestAnAttemptWithOtherKeysKeepsNoOldToken(t *testing.T) {
	o := options(t, serve(t), map[string]string{"AWS_ACCESS_KEY_ID": "AKIDENV", "AWS_SECRET_ACCESS_KEY": "env-secret"})
	out := &llm.Outgoing{
		URL:    "https://bedrock-runtime.us-east-1.amazonaws.com",
		Header: http.Header{"X-Amz-Security-Token": {"old"}}, Body: &llm.Body{},
	}
	if err := AWS(o, "us-east-1")(t.Context(), out); err != nil || out.Header.Get("X-Amz-Security-Token") != "" {
		t.Errorf("%v %v", out.Header, err)
	}
	// the server sees the path "/"
	r := httptest.NewRequest(http.MethodPost, "https://bedrock-runtime.us-east-1.amazonaws.com/", nil)
	r.Header = out.Header
	if id, err := verified(r, nil, "bedrock"); err != nil || id != "AKIDENV" {
		t.Errorf("%s %v", id, err)
	}
}

func TestEachFormOfAFileOfGoogleCloudGivesAToken(t *testing.T) {
	v := serve(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	v.public = &key.PublicKey
	service := func(block *pem.Block) string {
		b, err := json.Marshal(map[string]string{
			"type": "service_account", "client_email": "robot@p",
			"token_uri": "https://audience", "private_key": string(pem.EncodeToMemory(block)),
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	user := `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r-1"}`
	path := filepath.Join(t.TempDir(), "file.json")
	for _, row := range []struct{ name, text, want string }{
		{
			"the older form of a key", service(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
			"Bearer service-token",
		},
		{"a user who acts for an account", `{"type":"impersonated_service_account","service_account_impersonation_url":"` +
			v.URL + `/imitate","source_credentials":` + user + `}`, "Bearer imitated-token"},
		{"no key", service(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), "the private key cannot be read"},
		{"no PEM", `{"type":"service_account","private_key":"x"}`, "not in PEM form"},
		{"no JSON", `x`, "cannot be read"},
		{"Amazon's own source", `{"type":"external_account","credential_source":{"environment_id":"aws1","url":"` + v.URL +
			`/subject"}}`, "not supported"},
		{
			"a missing field", `{"type":"external_account","credential_source":{"url":"` + v.URL +
				`/subject","headers":{"Metadata":"True"},"format":{"type":"json","subject_token_field_name":"other"}}}`,
			`has no text "other"`,
		},
	} {
		write(t, path, row.text)
		out, err := prepared(t, Google(options(t, v, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": path})), nil)
		if got := out.Header.Get("Authorization") + fmt.Sprint(err); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s", row.name, got)
		}
		if e := llm.AsError(err); err != nil && (e == nil || e.Kind != llm.KindAuth || !strings.Contains(e.Hint,
			"gcloud auth application-default login")) {
			t.Errorf("%s: the error does not say what to do: %v", row.name, err)
		}
	}
	_, err = prepared(t, Google(options(t, v, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": path + ".gone"})), nil)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("the file that is named is missing, and the machine is asked: %v", err)
	}
}

func TestACommandThatGivesNoTokenForGoogleSaysWhy(t *testing.T) {
	v := serve(t)
	path := filepath.Join(t.TempDir(), "external.json")
	write(t, path, `{"type":"external_account","audience":"pool","token_url":"`+v.URL+
		`","credential_source":{"executable":{"command":"c"}}}`)
	for text, want := range map[string]string{
		`{"success":true,"saml_response":"outside"}`:                "Bearer federated-token",
		`{"success":false,"id_token":"outside","message":"locked"}`: "locked",
		`{"success":true}`: "gave no token",
		`nonsense`:         "gave no token",
	} {
		o := options(t, v, map[string]string{
			"GOOGLE_APPLICATION_CREDENTIALS":            path,
			"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1",
		})
		o.Run = output("c", text)
		out, err := prepared(t, Google(o), nil)
		if got := out.Header.Get("Authorization") + fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestARefusedTokenOfEntraIsRenewedAndAGivenOneIsNot(t *testing.T) {
	v := serve(t)
	app := map[string]string{"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s3"}
	p := Entra(options(t, v, app))
	for i, refused := range []*llm.Refusal{nil, nil, {Err: &llm.Error{}}} {
		if _, err := prepared(t, p, refused); err != nil || v.calls != []int{1, 1, 2}[i] {
			t.Errorf("attempt %d: %d calls, %v", i, v.calls, err)
		}
	}
	if _, err := prepared(t, Entra(options(t, v, map[string]string{"AZURE_OPENAI_AD_TOKEN": "given"})),
		&llm.Refusal{Err: &llm.Error{Message: "no"}}); err == nil {
		t.Error("a refused token is sent again")
	}
	for name := range app {
		part := map[string]string{}
		for other, value := range app {
			if other != name {
				part[other] = value
			}
		}
		if Entra(options(t, v, part)) != nil {
			t.Errorf("without %s there is a token", name)
		}
	}
	app["AZURE_CLIENT_SECRET"] = "wrong"
	if _, err := prepared(t, Entra(options(t, v, app)), nil); err == nil {
		t.Error("a wrong secret gives a token")
	}
}

func TestATokenWithoutAnEndIsKeptForTenMinutes(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	o := Options{Now: func() time.Time { return now }}
	if text, until, err := o.token([]byte(`{"access_token":"a"}`)); err != nil || text != "a" ||
		!until.Equal(now.Add(10*time.Minute)) {
		t.Errorf("%q until %s: %v", text, until, err)
	}
}
