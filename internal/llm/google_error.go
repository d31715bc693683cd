package llm

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// googleDetails are the details of an error of Google's APIs (google.rpc.RetryInfo and QuotaFailure,
// https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto).
type googleDetails struct {
	delay     time.Duration // after which a retry is welcome; 0: not told
	shortTerm bool          // the exceeded quota is one for a minute or less
}

// firstObject returns the first element of an array, in which Google's APIs wrap errors of streams; other values are
// returned as they are.
func firstObject(body []byte) []byte {
	if t := bytes.TrimLeft(body, " \t\r\n"); len(t) > 0 && t[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(t, &list) == nil && len(list) > 0 {
			return list[0]
		}
	}
	return body
}

func googleDetailsOf(body []byte) (out googleDetails) {
	var b struct {
		Error struct {
			Details []struct {
				Type       string `json:"@type"`
				RetryDelay string `json:"retryDelay"`
				Violations []struct {
					QuotaID string `json:"quotaId"`
				} `json:"violations"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(firstObject(body), &b) != nil {
		return googleDetails{}
	}
	for _, d := range b.Error.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			out.delay = min(wait, 365*24*time.Hour)
		}
		for _, v := range d.Violations {
			out.shortTerm = out.shortTerm || strings.Contains(v.QuotaID, "PerMinute") || strings.Contains(v.QuotaID, "PerSecond")
		}
	}
	for _, d := range b.Error.Details { // one exhausted for the day is not helped by a minute's wait
		for _, v := range d.Violations {
			out.shortTerm = out.shortTerm && !strings.Contains(v.QuotaID, "PerDay")
		}
	}
	return out
}
