package anthropic

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Claude on Amazon Bedrock (InvokeModelWithResponseStream) and on Google Vertex AI (streamRawPredict) takes the same
// body, with the model in the address, a version in the body, and betas in the body (Bedrock) or the header (Vertex).
// Sources: Anthropic, "Claude on Amazon Bedrock" and "Claude on Vertex AI"; AWS and Google API references.

// Cloud is where the models run, if not at a server that speaks Anthropic's own API.
type Cloud string

// The clouds.
const (
	Bedrock Cloud = "bedrock"
	Vertex  Cloud = "vertex"
)

// version is anthropic_version in the body; "" for Anthropic's own API, which has it in a header.
func (c Cloud) version() string {
	return map[Cloud]string{Bedrock: "bedrock-2023-05-31", Vertex: "vertex-2023-10-16"}[c]
}

// address returns the address of a model.
func (c Cloud) address(base, id string) string {
	base = strings.TrimRight(base, "/")
	if c == Bedrock { // the signature is made of the escaped path, and Amazon's programs escape colons, too
		return base + "/model/" + strings.ReplaceAll(url.PathEscape(id), ":", "%3A") + "/invoke-with-response-stream"
	}
	return base + "/models/" + url.PathEscape(id) + ":streamRawPredict"
}

// undated are the names at Bedrock of models without a date that have a suffix.
func undated(id string) string {
	if id == "claude-opus-4-6" {
		return id + "-v1"
	}
	return id
}

// ModelID returns the cloud's name for a model. A name of the cloud itself stays as it is: "us.anthropic.claude-...",
// an ARN, "claude-...@20250929".
func (c Cloud) ModelID(id, region string) string {
	if strings.ContainsAny(id, "@:/") || strings.Contains(id, "anthropic.") {
		return id
	}
	dated := withDate(id)
	n := len(dated) - len("-20060102")
	hasDate := n > 0 && dated[n] == '-' && isDigits(dated[n+1:])
	switch {
	case c == Vertex && hasDate:
		return dated[:n] + "@" + dated[n+1:]
	case c == Vertex:
		return id
	case hasDate:
		return geography(region) + ".anthropic." + dated + "-v1:0"
	}
	return geography(region) + ".anthropic." + undated(id)
}

func isDigits(s string) bool { _, err := strconv.Atoi(s); return err == nil && s[0] != '-' }

// withDate returns the dated name of a model in the catalogue, or id.
func withDate(id string) string {
	for _, m := range llm.Known(wire) {
		if rest, ok := strings.CutPrefix(m.ID, id+"-"); ok && len(rest) == len("20060102") && isDigits(rest) {
			return m.ID
		}
	}
	return id
}

// geography is the prefix of an inference profile for a region; "global" where there is none of its own.
func geography(region string) string {
	part, _, _ := strings.Cut(region, "-")
	if slices.Contains([]string{"us", "eu"}, part) {
		return part
	}
	return "global"
}

// cloudFields changes the members of the body for a cloud.
func (m *model) cloudFields(fs []field, h http.Header) []field {
	c := m.p.conf.Cloud
	if c == "" {
		return fs
	}
	fs = slices.DeleteFunc(fs, func(f field) bool { return f.key == "model" || c == Bedrock && f.key == "stream" })
	fs = append([]field{{"anthropic_version", llm.AppendQuoted(nil, c.version())}}, fs...)
	if betas := h.Get("Anthropic-Beta"); c == Bedrock && betas != "" {
		fs = append(fs, field{"anthropic_beta", quotedList(strings.Split(betas, ","))})
	}
	return fs
}

// cloudHeader is a header without the members that a cloud does not take.
func (m *model) cloudHeader(h http.Header) http.Header {
	if m.p.conf.Cloud == "" {
		return h
	}
	h = h.Clone()
	h.Del("Anthropic-Version")
	if m.p.conf.Cloud == Bedrock {
		h.Del("Anthropic-Beta")
		h.Set("Accept", "application/vnd.amazon.eventstream")
	}
	return h
}
