package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// frame encodes a message of Amazon's event stream.
func frame(headers map[string]string, payload []byte) []byte {
	var h bytes.Buffer
	for name, value := range headers {
		h.WriteByte(byte(len(name)))
		h.WriteString(name)
		h.WriteByte(7)
		_ = binary.Write(&h, binary.BigEndian, uint16(len(value)))
		h.WriteString(value)
	}
	var b bytes.Buffer
	_ = binary.Write(&b, binary.BigEndian, uint32(16+h.Len()+len(payload)))
	_ = binary.Write(&b, binary.BigEndian, uint32(h.Len()))
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
	b.Write(h.Bytes())
	b.Write(payload)
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
	return b.Bytes()
}

// bedrockStream turns server-sent events into what InvokeModelWithResponseStream sends.
func bedrockStream(sse string) []byte {
	var out []byte
	for line := range strings.Lines(sse) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			payload, _ := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString([]byte(data)), "p": "abc"})
			out = append(out, frame(map[string]string{
				":message-type": "event", ":event-type": "chunk",
				":content-type": "application/json",
			}, payload)...)
		}
	}
	return out
}

// cloudServer answers each request with a body, and keeps the requests.
func cloudServer(t *testing.T, contentType string, body []byte) (string, *[]*http.Request, *[]string) {
	t.Helper()
	var rs []*http.Request
	var bodies []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		rs, bodies = append(rs, r), append(bodies, string(b))
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	})
	return url, &rs, &bodies
}

func cloudModel(t *testing.T, url, id string, cloud Cloud) llm.Model {
	t.Helper()
	c := config(t, url, once)
	c.APIKey, c.Cloud, c.Region, c.Betas = "", cloud, "us-west-2", []string{"some-beta"}
	return newModel(t, id, c)
}

func cloudRequest() *llm.Request {
	return &llm.Request{System: []llm.Part{llm.Text{Text: "S"}}, Messages: []llm.Message{llm.UserText("x")}}
}

func TestClaudeOnBedrock(t *testing.T) {
	whole := seq(msgStart, textBlock(0, "Hi"), callBlock(1, "toolu_1", `{"a":1}`), end(1), stop("tool_use"), msgStop)
	url, rs, bodies := cloudServer(t, "application/vnd.amazon.eventstream", bedrockStream(whole))
	o := run(t, cloudModel(t, url, "claude-sonnet-4-5", Bedrock), cloudRequest())
	if o.err != nil || o.done.PlainText() != "Hi" || len(o.ready) != 1 || o.done.Stop != llm.StopToolUse {
		t.Fatalf("%+v %v", o.done, o.err)
	}
	r := (*rs)[0]
	if want := "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream"; r.URL.EscapedPath() != want || r.RequestURI != want {
		t.Errorf("the address is %s", r.RequestURI)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte((*bodies)[0]), &body); err != nil {
		t.Fatal(err)
	}
	if body["model"] != nil || body["stream"] != nil || body["anthropic_version"] != "bedrock-2023-05-31" ||
		!strings.Contains((*bodies)[0], `"anthropic_beta":["some-beta"`) {
		t.Errorf("%s", (*bodies)[0])
	}
	if r.Header.Get("Anthropic-Beta") != "" || r.Header.Get("Anthropic-Version") != "" {
		t.Errorf("%v", r.Header)
	}
}

func TestABedrockStreamThatIsCutMakesNoCallOfAHalf(t *testing.T) {
	whole := bedrockStream(seq(msgStart, callBlock(0, "toolu_1", `{"a":1}`), end(0), stop("tool_use"), msgStop))
	for at := 0; at < len(whole); at += 7 {
		url, _, _ := cloudServer(t, "application/vnd.amazon.eventstream", whole[:at])
		o := run(t, cloudModel(t, url, "claude-opus-4-7", Bedrock), cloudRequest())
		if e := llm.AsError(o.err); e == nil || !e.Retryable {
			t.Fatalf("cut at %d of %d: %v", at, len(whole), o.err)
		}
		for _, c := range o.ready {
			if string(c.Input) != `{"a":1}` {
				t.Fatalf("cut at %d: %+v", at, c)
			}
		}
	}
}

func TestABedrockExceptionIsClassified(t *testing.T) {
	body := append(bedrockStream(seq(msgStart)),
		frame(map[string]string{":message-type": "exception", ":exception-type": "throttlingException"},
			[]byte(`{"message":"Too many requests"}`))...)
	url, _, _ := cloudServer(t, "application/vnd.amazon.eventstream", body)
	o := run(t, cloudModel(t, url, "claude-opus-4-7", Bedrock), cloudRequest())
	if e := llm.AsError(o.err); e == nil || e.Kind != llm.KindRateLimit {
		t.Errorf("%v", o.err)
	}
}

func TestClaudeOnVertex(t *testing.T) {
	url, rs, bodies := cloudServer(t, "text/event-stream",
		[]byte(seq(msgStart, textBlock(0, "Hi"), stop("end_turn"), msgStop)))
	o := run(t, cloudModel(t, url+"/v1/projects/p/locations/global/publishers/anthropic", "claude-haiku-4-5", Vertex),
		cloudRequest())
	if o.err != nil || o.done.PlainText() != "Hi" {
		t.Fatalf("%+v %v", o.done, o.err)
	}
	if want := "/v1/projects/p/locations/global/publishers/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict"; (*rs)[0].URL.Path != want {
		t.Errorf("the address is %s", (*rs)[0].URL)
	}
	if b := (*bodies)[0]; !strings.Contains(b, `"anthropic_version":"vertex-2023-10-16"`) || !strings.Contains(b,
		`"stream":true`) || strings.Contains(b, `"model"`) {
		t.Errorf("%s", b)
	}
	if (*rs)[0].Header.Get("Anthropic-Beta") != "some-beta" {
		t.Errorf("%v", (*rs)[0].Header)
	}
}

func TestCloudsHaveTheirOwnNamesForModels(t *testing.T) {
	for _, row := range []struct {
		cloud            Cloud
		id, region, want string
	}{
		{Bedrock, "claude-sonnet-4-5", "us-east-1", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{Bedrock, "claude-haiku-4-5", "eu-central-1", "eu.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{Bedrock, "claude-haiku-4-5-20251001", "ap-south-1", "global.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{Bedrock, "claude-opus-4-6", "us-east-1", "us.anthropic.claude-opus-4-6-v1"},
		{Bedrock, "claude-sonnet-4-6", "us-east-1", "us.anthropic.claude-sonnet-4-6"},
		{Bedrock, "jp.anthropic.claude-sonnet-4-6", "us-east-1", "jp.anthropic.claude-sonnet-4-6"},
		{
			Bedrock, "arn:aws:bedrock:us-east-1:1:inference-profile/x", "us-east-1",
			"arn:aws:bedrock:us-east-1:1:inference-profile/x",
		},
		{Vertex, "claude-sonnet-4-5", "", "claude-sonnet-4-5@20250929"},
		{Vertex, "claude-opus-4-7", "", "claude-opus-4-7"},
		{Vertex, "claude-opus-4@20250514", "", "claude-opus-4@20250514"},
	} {
		if got := row.cloud.ModelID(row.id, row.region); got != row.want {
			t.Errorf("%s %s: %s, want %s", row.cloud, row.id, got, row.want)
		}
	}
}
