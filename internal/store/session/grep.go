package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Hit is a place of a session whose text has what was searched for.
type Hit struct {
	Entry string
	Kind  string // user, part, call_end or title
	Time  time.Time
	Text  string // the text around it, on one line
}

// Hits are the places of one session, in the order of its log.
type Hits struct {
	Info
	Hits  []Hit
	Count int // of entries, also of those that are not in Hits
}

// Bounds of a search.
const (
	mostHits    = 3  // of a session that are returned
	aroundHit   = 80 // bytes of text before and after
	grepWorkers = 4  // logs that are read at a time
	grepBuffer  = 256 << 10
)

// Grep searches the texts of all sessions of a folder, with "" of all folders, for a text in any case: prompts,
// replies, calls, results and titles. Sessions come newest first. Those that cannot be read are left out.
func (s *Store) Grep(ctx context.Context, dir, text string) []Hits {
	var all []Hits
	for info, err := range s.List(dir) {
		if err == nil {
			all = append(all, Hits{Info: info})
		}
	}
	needle := newNeedle(text)
	var wg sync.WaitGroup
	next := make(chan *Hits)
	for range grepWorkers {
		wg.Go(func() {
			for h := range next {
				if ctx.Err() == nil {
					h.read(needle)
				}
			}
		})
	}
	for i := range all {
		select {
		case next <- &all[i]:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	var out []Hits
	for _, h := range all {
		if h.Count > 0 {
			out = append(out, h)
		}
	}
	return out
}

// needle is a text that is searched for, in lower case, as it is and as JSON writes it.
type needle struct{ plain, written []byte }

func newNeedle(text string) needle {
	plain := strings.ToLower(strings.TrimSpace(text))
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(plain) // a text always encodes
	written := bytes.TrimSpace(b.Bytes())
	return needle{[]byte(plain), written[1 : len(written)-1]}
}

// read searches the log.
func (h *Hits) read(n needle) {
	f, err := os.Open(h.Path)
	if err != nil || len(n.plain) == 0 {
		return
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, grepBuffer)
	var line, low []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if low = lowered(low[:0], line); bytes.Contains(low, n.written) {
			h.take(line, n)
		}
		if line = line[:0]; err != nil {
			return
		}
	}
}

// lowered appends a text in lower case to out.
func lowered(out, text []byte) []byte {
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return append(out, bytes.ToLower(text[i:])...)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out = append(out, c)
	}
	return out
}

// searched are the kinds of entries with texts of the conversation, and the field that has them.
var searched = map[string]string{"user": "message", "part": "part", "call_end": "result", "title": "title"}

// take adds the place if the line has the text in what was said, and not in its frame.
func (h *Hits) take(line []byte, n needle) {
	var e map[string]json.RawMessage
	var hit Hit
	if json.Unmarshal(line, &e) != nil || json.Unmarshal(e["kind"], &hit.Kind) != nil || searched[hit.Kind] == "" {
		return
	}
	var v any
	if json.Unmarshal(e[searched[hit.Kind]], &v) != nil || !finds(v, n, &hit.Text) {
		return
	}
	if h.Count++; len(h.Hits) < mostHits {
		_ = json.Unmarshal(e["id"], &hit.Entry)
		_ = json.Unmarshal(e["time"], &hit.Time)
		h.Hits = append(h.Hits, hit)
	}
}

// finds looks for the text in the strings of a JSON value. What lathe added to a message is no text of the
// conversation.
func finds(v any, n needle, around *string) bool {
	switch v := v.(type) {
	case string:
		at := bytes.Index(bytes.ToLower([]byte(v)), n.plain)
		if at < 0 {
			return false
		}
		at = min(at, len(v))
		from, to := max(0, at-aroundHit), min(len(v), at+len(n.plain)+aroundHit)
		*around = strings.Join(strings.Fields(strings.ToValidUTF8(v[from:to], "")), " ")
		return true
	case []any:
		for _, e := range v {
			if finds(e, n, around) {
				return true
			}
		}
	case map[string]any:
		if o, _ := v["origin"].(string); o == "context" || o == "memory" || o == "reminder" {
			return false
		}
		for key, e := range v {
			if key != "data" && key != "id" && key != "call_id" && key != "signature" && finds(e, n, around) {
				return true
			}
		}
	}
	return false
}
