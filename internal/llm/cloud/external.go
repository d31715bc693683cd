package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// errNoCommands says that the owner of the options runs no commands.
var errNoCommands = errors.New("commands for credentials cannot be run here")

// command runs a command line of the user's files and returns its output.
func (o *Options) command(ctx context.Context, line string) ([]byte, error) {
	if o.Run == nil {
		return nil, errNoCommands
	}
	return o.Run(ctx, line)
}

// process runs the credential_process of a profile (AWS SDKs, "Process credential provider").
func (o *Options) process(ctx context.Context, profile, line string) (awsKeys, time.Time, error) {
	b, err := o.command(ctx, line)
	if err != nil {
		return awsKeys{}, time.Time{}, fmt.Errorf("credential_process of the AWS profile %s: %w", profile, err)
	}
	var e struct {
		ID         string `json:"AccessKeyId"`
		Secret     string `json:"SecretAccessKey"`
		Token      string `json:"SessionToken"`
		Expiration time.Time
	}
	if err := json.Unmarshal(b, &e); err != nil || e.ID == "" || e.Secret == "" {
		return awsKeys{}, time.Time{}, fmt.Errorf("credential_process of the AWS profile %s printed no credentials", profile)
	}
	return awsKeys{e.ID, e.Secret, e.Token}, e.Expiration, nil
}

// sourced returns the keys that credential_source names, with which a role is assumed.
func (o *Options) sourced(ctx context.Context, source string) (awsKeys, error) {
	switch source {
	case "Environment":
		if id, secret := o.Getenv("AWS_ACCESS_KEY_ID"), o.Getenv("AWS_SECRET_ACCESS_KEY"); id != "" && secret != "" {
			return awsKeys{id, secret, o.Getenv("AWS_SESSION_TOKEN")}, nil
		}
		return awsKeys{}, errors.New("credential_source is Environment, and AWS_ACCESS_KEY_ID is not set")
	case "Ec2InstanceMetadata":
		k, _, err := o.machine(ctx)
		return k, err
	case "EcsContainer":
		k, _, err := o.container(ctx)
		return k, err
	}
	return awsKeys{}, fmt.Errorf("there is no credential_source %q of AWS", source)
}

// external are the members of a file of workload identity federation
// (https://google.aip.dev/auth/4117), and of an impersonated service account.
type external struct {
	Audience  string `json:"audience"`
	TokenType string `json:"subject_token_type"`
	TokenURL  string `json:"token_url"`
	Imitate   string `json:"service_account_impersonation_url"`
	Source    struct {
		File        string            `json:"file"`
		URL         string            `json:"url"`
		Headers     map[string]string `json:"headers"`
		Environment string            `json:"environment_id"`
		Executable  *struct {
			Command string `json:"command"`
		} `json:"executable"`
		Format struct {
			Type  string `json:"type"`
			Field string `json:"subject_token_field_name"`
		} `json:"format"`
	} `json:"credential_source"`
	Credentials json.RawMessage `json:"source_credentials"`
}

// federated exchanges the token of another identity provider.
func (o *Options) federated(ctx context.Context, e *external) (string, time.Time, error) {
	subject, err := o.subject(ctx, e)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("the token for Google Cloud: %w", err)
	}
	t, until, err := o.oauth(ctx, cmp.Or(o.Login, e.TokenURL), url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "audience": {e.Audience}, "scope": {googleScope},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"}, "subject_token": {subject},
		"subject_token_type": {e.TokenType},
	})
	if err != nil || e.Imitate == "" {
		return t, until, err
	}
	return o.imitated(ctx, e.Imitate, t)
}

// imitated exchanges a token for one of a service account.
func (o *Options) imitated(ctx context.Context, address, token string) (string, time.Time, error) {
	h := map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + token}
	b, err := o.fetch(ctx, http.MethodPost, address, h, `{"scope":["`+googleScope+`"],"lifetime":"3600s"}`)
	if err != nil {
		return "", time.Time{}, err
	}
	var a struct {
		Token  string    `json:"accessToken"`
		Expire time.Time `json:"expireTime"`
	}
	if err := json.Unmarshal(b, &a); err != nil || a.Token == "" {
		return "", time.Time{}, errors.New("the answer has no token of the service account")
	}
	return a.Token, a.Expire, nil
}

// subject returns the token that is exchanged: from a file, an address or a command.
func (o *Options) subject(ctx context.Context, e *external) (string, error) {
	s := &e.Source
	var b []byte
	var err error
	switch {
	case s.File != "":
		b, err = os.ReadFile(s.File)
	case s.URL != "" && s.Environment == "":
		b, err = o.fetch(ctx, http.MethodGet, s.URL, s.Headers, "")
	case s.Executable != nil:
		return o.executed(ctx, s.Executable.Command)
	default:
		return "", errors.New("this source of credentials is not supported; lathe takes a file, an address and a command")
	}
	if err != nil || s.Format.Type != "json" {
		return strings.TrimSpace(string(b)), err
	}
	var fields map[string]json.RawMessage
	var token string
	if json.Unmarshal(b, &fields) != nil || json.Unmarshal(fields[s.Format.Field], &token) != nil {
		return "", fmt.Errorf("the source has no text %q", llm.Clean(s.Format.Field))
	}
	return token, nil
}

// executed runs the command of an executable source, which Google's programs run only where a variable allows it.
func (o *Options) executed(ctx context.Context, line string) (string, error) {
	if o.Getenv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES") != "1" {
		return "", errors.New("a command prints it; set GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 to allow that")
	}
	b, err := o.command(ctx, line)
	if err != nil {
		return "", err
	}
	var a struct {
		Success bool   `json:"success"`
		ID      string `json:"id_token"`
		SAML    string `json:"saml_response"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(b, &a); err != nil || !a.Success || a.ID+a.SAML == "" {
		return "", fmt.Errorf("the command gave no token: %s", llm.Clean(a.Message))
	}
	return cmp.Or(a.ID, a.SAML), nil
}
