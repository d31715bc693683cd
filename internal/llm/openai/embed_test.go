package openai_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/openai"
)

func TestEmbedReadsVectorsInAnyOrderAndRefusesWrongOnes(t *testing.T) {
	answer, status := "", http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/v1/embeddings" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer srv.Close()
	p := openai.New(openai.Config{BaseURL: srv.URL + "/base", APIKey: "sk-test"})
	answer = `{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":5}}`
	got, usage, err := p.Embed(t.Context(), "m", []string{"a", "b"})
	if d := cmp.Diff([][]float32{{1, 2}, {3, 4}}, got); err != nil || d != "" || usage != (llm.Usage{Input: 5}) {
		t.Errorf("%v %+v %s", err, usage, d)
	}
	for _, answer = range []string{
		``, `{}`, `[]`, `null`, `{"data":[{"index":0,"embedding":[1]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, `{"data":[{"index":0,"embedding":"AAAA"}]}`,
		`{"data":[{"ind`, `<html>`,
		`{"data":[{"index":-1,"embedding":[1]},{"index":1,"embedding":[1]}]}`,
	} {
		if got, _, err := p.Embed(t.Context(), "m", []string{"a", "b"}); err == nil {
			t.Errorf("%s: %v", answer, got)
		}
	}
	answer, status = `{"error":{"message":"no such model","type":"invalid_request_error"}}`, http.StatusNotFound
	if _, _, err := p.Embed(t.Context(), "m", []string{"a"}); err == nil || !strings.Contains(err.Error(),
		"no such model") {
		t.Error(err)
	}
}
