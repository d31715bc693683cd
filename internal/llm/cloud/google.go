package cloud

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

const (
	googleScope = "https://www.googleapis.com/auth/cloud-platform"
	googleToken = "https://oauth2.googleapis.com/token" //nolint:gosec // an address
)

// Google sets tokens for Google Cloud, from the application default credentials: the file that
// GOOGLE_APPLICATION_CREDENTIALS names, that of `gcloud auth application-default login`, or the metadata service of the
// machine (https://cloud.google.com/docs/authentication/application-default-credentials).
func Google(o Options) llm.Prepare {
	return bearer(o, func(ctx context.Context) (string, time.Time, error) {
		t, until, err := o.googleToken(ctx)
		if err != nil {
			err = &llm.Error{
				Kind: llm.KindAuth, Message: llm.Clean(err.Error()), Err: err,
				Hint: "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the file of a " +
					"service account",
			}
		}
		return t, until, err
	})
}

// googleFile is a file of credentials.
type googleFile struct {
	Type     string `json:"type"`
	ClientID string `json:"client_id"`
	Secret   string `json:"client_secret"`
	Refresh  string `json:"refresh_token"`
	Email    string `json:"client_email"`
	Key      string `json:"private_key"`
	KeyID    string `json:"private_key_id"`
	TokenURI string `json:"token_uri"`

	external
}

func (o *Options) googleToken(ctx context.Context) (string, time.Time, error) {
	path, named := o.Getenv("GOOGLE_APPLICATION_CREDENTIALS"), true
	if path == "" {
		path, named = o.home(".config", "gcloud", "application_default_credentials.json"), false
		if dir := o.Getenv("APPDATA"); dir != "" {
			path = dir + `\gcloud\application_default_credentials.json`
		}
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && !named {
		return o.googleMachine(ctx)
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("the credentials of Google Cloud: %w", err)
	}
	return o.fileToken(ctx, path, b)
}

// fileToken returns a token for the credentials in a file.
func (o *Options) fileToken(ctx context.Context, path string, b []byte) (string, time.Time, error) {
	var f googleFile
	if err := json.Unmarshal(b, &f); err != nil {
		return "", time.Time{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	address := cmp.Or(o.Login, f.TokenURI, googleToken)
	switch f.Type {
	case "authorized_user":
		return o.oauth(ctx, address, url.Values{
			"grant_type": {"refresh_token"}, "client_id": {f.ClientID}, "client_secret": {f.Secret},
			"refresh_token": {f.Refresh},
		})
	case "service_account":
		jwt, err := f.assertion(cmp.Or(f.TokenURI, googleToken), o.now())
		if err != nil {
			return "", time.Time{}, fmt.Errorf("%s: %w", path, err)
		}
		return o.oauth(ctx, address, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
			"assertion":  {jwt},
		})
	case "external_account":
		return o.federated(ctx, &f.external)
	case "impersonated_service_account":
		t, _, err := o.fileToken(ctx, path, f.Credentials)
		if err != nil {
			return "", time.Time{}, err
		}
		return o.imitated(ctx, f.Imitate, t)
	}
	return "", time.Time{}, fmt.Errorf("%s has credentials of the type %q; lathe knows authorized_user, "+
		"service_account, external_account and impersonated_service_account", path, f.Type)
}

// assertion is a token that the service account signs itself (RFC 7523).
func (f *googleFile) assertion(audience string, now time.Time) (string, error) {
	block, _ := pem.Decode([]byte(f.Key))
	if block == nil {
		return "", errors.New("the private key is not in PEM form")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			return "", fmt.Errorf("the private key cannot be read: %w", err)
		}
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return "", errors.New("the private key is no RSA key")
	}
	head, err := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": f.KeyID})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss": f.Email, "scope": googleScope, "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

// googleMachine asks the metadata service of a machine in Google Cloud.
func (o *Options) googleMachine(ctx context.Context) (string, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	base := cmp.Or(o.Metadata, "http://"+cmp.Or(o.Getenv("GCE_METADATA_HOST"), "169.254.169.254"))
	b, err := o.fetch(ctx, http.MethodGet, base+"/computeMetadata/v1/instance/service-accounts/default/token",
		map[string]string{"Metadata-Flavor": "Google"}, "")
	if err != nil {
		return "", time.Time{}, errors.New("there are no credentials of Google Cloud")
	}
	return o.token(b)
}

// Entra sets tokens of Microsoft Entra for Azure OpenAI: AZURE_OPENAI_AD_TOKEN, or those of the application that
// AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET name. It is nil if neither is set.
func Entra(o Options) llm.Prepare {
	if t := o.Getenv("AZURE_OPENAI_AD_TOKEN"); t != "" {
		return func(_ context.Context, out *llm.Outgoing) error {
			if out.Refused != nil {
				return out.Refused.Err
			}
			out.Header.Set("Authorization", "Bearer "+t)
			return nil
		}
	}
	tenant, id, secret := o.Getenv("AZURE_TENANT_ID"), o.Getenv("AZURE_CLIENT_ID"), o.Getenv("AZURE_CLIENT_SECRET")
	if tenant == "" || id == "" || secret == "" {
		return nil
	}
	address := cmp.Or(o.Login, "https://login.microsoftonline.com") + "/" + url.PathEscape(tenant) + "/oauth2/v2.0/token"
	return bearer(o, func(ctx context.Context) (string, time.Time, error) {
		return o.oauth(ctx, address, url.Values{
			"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret},
			"scope": {"https://cognitiveservices.azure.com/.default"},
		})
	})
}
