package cloud

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // names of files of Amazon's, no secret
	"encoding/hex"
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

// AWSRegion returns the region of the environment or the profile; "" if none is set.
func AWSRegion(o Options) string {
	region := cmp.Or(o.Getenv("AWS_REGION"), o.Getenv("AWS_DEFAULT_REGION"))
	if region != "" {
		return region
	}
	return o.profiles()[o.profile()]["region"]
}

// AWS signs requests for Bedrock in a region, or sends the bearer key AWS_BEARER_TOKEN_BEDROCK if that is set.
// Credentials come from the first of: the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a web identity token;
// the profile AWS_PROFILE or default (keys, a role, single sign-on); the container; the machine.
func AWS(o Options, region string) llm.Prepare {
	var keys cached[awsKeys]
	return func(ctx context.Context, out *llm.Outgoing) error {
		if key := o.Getenv("AWS_BEARER_TOKEN_BEDROCK"); key != "" {
			if out.Refused != nil {
				return out.Refused.Err
			}
			out.Header.Set("Authorization", "Bearer "+key)
			return nil
		}
		k, err := keys.get(o.now(), out.Refused != nil, func() (awsKeys, time.Time, error) { return o.awsKeys(ctx, region) })
		if err != nil {
			return &llm.Error{
				Kind: llm.KindAuth, Message: llm.Clean(err.Error()), Err: err,
				Hint: "log in with `aws sso login`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or " +
					"AWS_BEARER_TOKEN_BEDROCK",
			}
		}
		u, err := url.Parse(out.URL)
		if err != nil {
			return err
		}
		body := out.Body.Reader()
		defer func() { _ = body.Close() }()
		return sign(http.MethodPost, u, out.Header, body, k, scope{region, "bedrock"}, o.now())
	}
}

// errNone says that a source has no credentials.
var errNone = errors.New("there are no AWS credentials")

func (o *Options) awsKeys(ctx context.Context, region string) (awsKeys, time.Time, error) {
	if id := o.Getenv("AWS_ACCESS_KEY_ID"); id != "" && o.Getenv("AWS_SECRET_ACCESS_KEY") != "" {
		return awsKeys{id, o.Getenv("AWS_SECRET_ACCESS_KEY"), o.Getenv("AWS_SESSION_TOKEN")}, time.Time{}, nil
	}
	if file := o.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"); file != "" {
		return o.webIdentity(ctx, region, file, o.Getenv("AWS_ROLE_ARN"))
	}
	for _, source := range []func() (awsKeys, time.Time, error){
		func() (awsKeys, time.Time, error) { return o.profileKeys(ctx, region, o.profile(), 0) },
		func() (awsKeys, time.Time, error) { return o.container(ctx) },
		func() (awsKeys, time.Time, error) { return o.machine(ctx) },
	} {
		if k, until, err := source(); !errors.Is(err, errNone) {
			return k, until, err
		}
	}
	return awsKeys{}, time.Time{}, errNone
}

func (o *Options) profile() string {
	return cmp.Or(o.Getenv("AWS_PROFILE"), o.Getenv("AWS_DEFAULT_PROFILE"), "default")
}

// profiles reads the two files of profiles; sections of single sign-on are "sso-session NAME".
func (o *Options) profiles() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, file := range []string{
		cmp.Or(o.Getenv("AWS_CONFIG_FILE"), o.home(".aws", "config")),
		cmp.Or(o.Getenv("AWS_SHARED_CREDENTIALS_FILE"), o.home(".aws", "credentials")),
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // most users have only one of them
		}
		readProfiles(string(b), out)
	}
	return out
}

func readProfiles(text string, out map[string]map[string]string) {
	var section map[string]string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n \t")
		if name, ok := strings.CutPrefix(line, "["); ok {
			name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(name, "]"), "profile "))
			if section = out[name]; section == nil {
				section = map[string]string{}
				out[name] = section
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section == nil || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || strings.HasPrefix(line,
			" ") {
			continue
		}
		section[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
}

// mostRoles bounds the chain of source_profile.
const mostRoles = 5

func (o *Options) profileKeys(ctx context.Context, region, name string, depth int) (awsKeys, time.Time, error) {
	all := o.profiles()
	p := all[name]
	switch {
	case depth > mostRoles:
		return awsKeys{}, time.Time{}, fmt.Errorf("the source_profile of the AWS profile %s leads back to it", name)
	case p["role_arn"] != "" && p["web_identity_token_file"] != "":
		return o.webIdentity(ctx, region, p["web_identity_token_file"], p["role_arn"])
	case p["role_arn"] != "" && p["source_profile"] != "":
		if p["source_profile"] == name && p["aws_access_key_id"] != "" {
			return o.assume(ctx, region, p, awsKeys{p["aws_access_key_id"], p["aws_secret_access_key"], p["aws_session_token"]})
		}
		k, _, err := o.profileKeys(ctx, region, p["source_profile"], depth+1)
		if err != nil {
			return k, time.Time{}, err
		}
		return o.assume(ctx, region, p, k)
	case p["role_arn"] != "" && p["credential_source"] != "":
		k, err := o.sourced(ctx, p["credential_source"])
		if err != nil {
			return k, time.Time{}, err
		}
		return o.assume(ctx, region, p, k)
	case p["aws_access_key_id"] != "":
		return awsKeys{p["aws_access_key_id"], p["aws_secret_access_key"], p["aws_session_token"]}, time.Time{}, nil
	case p["sso_account_id"] != "":
		return o.sso(ctx, p, all["sso-session "+p["sso_session"]])
	case p["credential_process"] != "":
		return o.process(ctx, name, p["credential_process"])
	}
	return awsKeys{}, time.Time{}, errNone
}

// between returns the text of the first element of a name in an answer of STS, whose texts need no unescaping.
func between(answer, name string) string {
	_, rest, _ := strings.Cut(answer, "<"+name+">")
	text, _, found := strings.Cut(rest, "</"+name+">")
	if !found {
		return ""
	}
	return text
}

func (o *Options) stsURL(region string) string {
	return cmp.Or(o.STS, "https://sts."+region+".amazonaws.com") + "/"
}

func (o *Options) sts(ctx context.Context, region string, form url.Values, k *awsKeys) (awsKeys, time.Time, error) {
	u, err := url.Parse(o.stsURL(region))
	if err != nil {
		return awsKeys{}, time.Time{}, err
	}
	h := http.Header{}
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	if k != nil {
		if err := sign(http.MethodPost, u, h, strings.NewReader(form.Encode()), *k, scope{region, "sts"},
			o.now()); err != nil {
			return awsKeys{}, time.Time{}, err
		}
	}
	flat := map[string]string{}
	for name := range h {
		flat[name] = h.Get(name)
	}
	b, err := o.fetch(ctx, http.MethodPost, u.String(), flat, form.Encode())
	if err != nil {
		return awsKeys{}, time.Time{}, err
	}
	got := awsKeys{
		between(string(b), "AccessKeyId"), between(string(b), "SecretAccessKey"),
		between(string(b), "SessionToken"),
	}
	until, err := time.Parse(time.RFC3339, between(string(b), "Expiration"))
	if err != nil || got.ID == "" || got.Secret == "" {
		return awsKeys{}, time.Time{}, errors.New("the answer of AWS STS has no credentials")
	}
	return got, until, nil
}

func (o *Options) assume(ctx context.Context, region string, p map[string]string, k awsKeys) (awsKeys, time.Time,
	error,
) {
	form := url.Values{
		"Action": {"AssumeRole"}, "Version": {"2011-06-15"}, "RoleArn": {p["role_arn"]},
		"RoleSessionName": {cmp.Or(p["role_session_name"], "lathe")},
	}
	if p["external_id"] != "" {
		form.Set("ExternalId", p["external_id"])
	}
	return o.sts(ctx, region, form, &k)
}

func (o *Options) webIdentity(ctx context.Context, region, file, role string) (awsKeys, time.Time, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return awsKeys{}, time.Time{}, fmt.Errorf("the web identity token of AWS: %w", err)
	}
	return o.sts(ctx, region, url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role},
		"RoleSessionName":  {cmp.Or(o.Getenv("AWS_ROLE_SESSION_NAME"), "lathe")},
		"WebIdentityToken": {strings.TrimSpace(string(b))},
	}, nil)
}

// sso exchanges the token that `aws sso login` keeps for keys.
func (o *Options) sso(ctx context.Context, p, session map[string]string) (awsKeys, time.Time, error) {
	name, region := cmp.Or(p["sso_session"], p["sso_start_url"]), cmp.Or(session["sso_region"], p["sso_region"])
	sum := sha1.Sum([]byte(name)) //nolint:gosec // as above
	b, err := os.ReadFile(o.home(".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json"))
	var t struct {
		Access  string    `json:"accessToken"`
		Expires time.Time `json:"expiresAt"`
	}
	if err != nil || json.Unmarshal(b, &t) != nil || t.Access == "" || o.now().After(t.Expires) {
		return awsKeys{}, time.Time{}, errors.New("the AWS single sign-on has expired; run `aws sso login`")
	}
	q := url.Values{"account_id": {p["sso_account_id"]}, "role_name": {p["sso_role_name"]}}
	address := cmp.Or(o.SSO, "https://portal.sso."+region+".amazonaws.com") + "/federation/credentials?" + q.Encode()
	if b, err = o.fetch(ctx, http.MethodGet, address, map[string]string{"X-Amz-Sso_bearer_token": t.Access},
		""); err != nil {
		return awsKeys{}, time.Time{}, err
	}
	var a struct {
		Role struct {
			ID         string `json:"accessKeyId"`
			Secret     string `json:"secretAccessKey"`
			Token      string `json:"sessionToken"`
			Expiration int64  `json:"expiration"` // ms
		} `json:"roleCredentials"`
	}
	if err := json.Unmarshal(b, &a); err != nil || a.Role.ID == "" {
		return awsKeys{}, time.Time{}, errors.New("the answer of AWS single sign-on has no credentials")
	}
	return awsKeys{a.Role.ID, a.Role.Secret, a.Role.Token}, time.UnixMilli(a.Role.Expiration), nil
}

// expiring is the form of keys of a container or a machine.
type expiring struct {
	ID         string `json:"AccessKeyId"`
	Secret     string `json:"SecretAccessKey"`
	Token      string
	Expiration time.Time
}

func readExpiring(b []byte) (awsKeys, time.Time, error) {
	var e expiring
	if err := json.Unmarshal(b, &e); err != nil || e.ID == "" {
		return awsKeys{}, time.Time{}, errors.New("the answer of AWS has no credentials")
	}
	return awsKeys{e.ID, e.Secret, e.Token}, e.Expiration, nil
}

// container asks the agent of ECS or EKS.
func (o *Options) container(ctx context.Context) (awsKeys, time.Time, error) {
	address := o.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if rel := o.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); rel != "" {
		address = cmp.Or(o.Metadata, "http://169.254.170.2") + rel
	}
	if address == "" {
		return awsKeys{}, time.Time{}, errNone
	}
	auth := o.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := o.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return awsKeys{}, time.Time{}, err
		}
		auth = strings.TrimSpace(string(b))
	}
	h := map[string]string{}
	if auth != "" {
		h["Authorization"] = auth
	}
	b, err := o.fetch(ctx, http.MethodGet, address, h, "")
	if err != nil {
		return awsKeys{}, time.Time{}, err
	}
	return readExpiring(b)
}

// machine asks the metadata service of EC2, version 2. Where nothing answers at once there is none.
func (o *Options) machine(ctx context.Context) (awsKeys, time.Time, error) {
	if strings.EqualFold(o.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return awsKeys{}, time.Time{}, errNone
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	base := cmp.Or(o.Metadata, "http://169.254.169.254")
	session, err := o.fetch(ctx, http.MethodPut, base+"/latest/api/token",
		map[string]string{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": "60"}, "")
	if err != nil {
		return awsKeys{}, time.Time{}, errNone
	}
	h := map[string]string{"X-Aws-Ec2-Metadata-Token": string(session)}
	const path = "/latest/meta-data/iam/security-credentials/"
	role, err := o.fetch(ctx, http.MethodGet, base+path, h, "")
	if err != nil {
		return awsKeys{}, time.Time{}, errNone
	}
	name, _, _ := strings.Cut(string(role), "\n")
	b, err := o.fetch(ctx, http.MethodGet, base+path+name, h, "")
	if err != nil {
		return awsKeys{}, time.Time{}, err
	}
	return readExpiring(b)
}
