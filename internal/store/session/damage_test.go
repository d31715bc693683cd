package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

const plantedID = "01900000-0000-7000-8000-00000000000a"

// plant writes a log of lines, sealed unless they end in a newline already, as a session.
func plant(t testing.TB, lines ...string) *Store {
	t.Helper()
	home := t.TempDir()
	folder := filepath.Join(home, "projects", "p", plantedID)
	must(t, os.MkdirAll(folder, 0o700))
	var log []byte
	for _, l := range lines {
		if strings.HasSuffix(l, "}") {
			l = string(seal([]byte(strings.TrimSuffix(l, "}"))))
		}
		log = append(log, l...)
	}
	must(t, os.WriteFile(filepath.Join(folder, logName), log, 0o600))
	return NewStore(home)
}

const (
	plainHeader = `{"kind":"header","format":1,"session":"` + plantedID +
		`","dir":"/w","created":"2026-01-02T03:04:05Z","lathe":"1"}`
	lineA = `{"id":"a","parent":"","time":"2026-01-02T03:04:05.000Z","kind":"user","message":{"role":"user","parts":[{"type":"text","text":"A"}]}}`
	lineB = `{"id":"b","parent":"a","time":"2026-01-02T03:04:05.000Z","kind":"user","message":{"role":"user","parts":[{"type":"text","text":"B"}]}}`
	lineC = `{"id":"c","parent":"b","time":"2026-01-02T03:04:05.000Z","kind":"user","message":{"role":"user","parts":[{"type":"text","text":"C"}]}}`
)

func texts(s *Session) string {
	var out []string
	for _, m := range s.Messages() {
		out = append(out, m.PlainText())
	}
	return strings.Join(out, " ")
}

func TestATornLastLineIsSetAside(t *testing.T) {
	torn := string(seal([]byte(strings.TrimSuffix(lineC, "}"))))
	for name, tail := range map[string]string{
		"cut": torn[:40], "zeros": strings.Repeat("\x00", 5000),
		"cut in the checksum": torn[:len(torn)-4],
	} {
		t.Run(name, func(t *testing.T) {
			st := plant(t, plainHeader, lineA, lineB)
			path := filepath.Join(st.projects, "p", plantedID, logName)
			whole, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, append(bytes.Clone(whole), tail...), 0o600))

			r, err := st.Verify(plantedID)
			must(t, err)
			if !r.OK() || r.Torn != int64(len(tail)) {
				t.Errorf("verify: %+v", r)
			}
			ro, err := st.OpenReadOnly(plantedID)
			must(t, err)
			same(t, texts(ro), "A B")
			must(t, ro.Close())

			s := open(t, st, plantedID)
			same(t, texts(s), "A B")
			if n := s.Notes(); len(n) != 1 || !strings.Contains(n[0], "log.torn-1") {
				t.Errorf("notes: %q", n)
			}
			aside, err := os.ReadFile(filepath.Join(s.Folder(), "log.torn-1"))
			must(t, err)
			same(t, string(aside), tail)
			now, err := os.ReadFile(path)
			must(t, err)
			same(t, now, whole)
		})
	}
}

func TestALastLineThatLacksOnlyItsNewlineIsKept(t *testing.T) {
	st := plant(t, plainHeader, lineA, strings.TrimSuffix(string(seal([]byte(strings.TrimSuffix(lineB, "}")))), "\n"))
	s := open(t, st, plantedID)
	same(t, texts(s), "A B")
	user(t, s, "C")
	s = reopen(t, st, s)
	same(t, texts(s), "A B C")
	same(t, s.Notes(), []string(nil))
}

func TestDamageInTheMiddleCostsOnlyItsLine(t *testing.T) {
	st := plant(t, plainHeader, lineA, strings.Replace(lineB, `"B"`, `"X"`, 1)[:60]+"\n", lineC)
	s := open(t, st, plantedID)
	same(t, texts(s), "A C")
	if n := s.Notes(); len(n) != 2 || !strings.Contains(n[0], "line 3") || !strings.Contains(n[1],
		`parent "b" is missing`) {
		t.Errorf("notes: %q", n)
	}
	user(t, s, "D")
	s = reopen(t, st, s)
	same(t, texts(s), "A C D")
	r, err := st.Verify(plantedID)
	must(t, err)
	if r.OK() || len(r.Damage) != 2 || r.Damage[0].Line != 3 || r.Damage[1].Line != 4 || r.Entries != 3 || r.Lines != 5 {
		t.Errorf("verify: %+v", r)
	}
}

func TestAChangedByteIsFound(t *testing.T) {
	st := plant(t, plainHeader, lineA, lineB)
	path := filepath.Join(st.projects, "p", plantedID, logName)
	whole, err := os.ReadFile(path)
	must(t, err)
	for i := range len(whole) - 1 { // without its last newline the last line is still good
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		must(t, os.WriteFile(path, bad, 0o600))
		r, err := st.Verify(plantedID)
		if err == nil && r.OK() {
			t.Fatalf("a flip in byte %d (%q) is not found", i, whole[max(0, i-10):i+1])
		}
	}
}

func TestALostHeaderIsNoReasonToRefuse(t *testing.T) {
	for name, head := range map[string]string{
		"damaged": strings.Replace(plainHeader, "}", `,"crc":"00000000"}`, 1) + "\n",
		"garbage": "xxx\n", "missing": "",
	} {
		t.Run(name, func(t *testing.T) {
			st := plant(t, head, lineA, lineB)
			s := open(t, st, plantedID)
			same(t, texts(s), "A B")
			same(t, s.ID(), plantedID)
			if name == "damaged" && s.Dir() != "/w" {
				t.Errorf("dir is %q", s.Dir())
			}
			r, err := st.Verify(plantedID)
			must(t, err)
			if r.OK() {
				t.Error("verify finds nothing")
			}
		})
	}
}

func TestAnEmptyLogIsASession(t *testing.T) {
	st := plant(t)
	s := open(t, st, plantedID)
	user(t, s, "x")
	s = reopen(t, st, s)
	same(t, texts(s), "x")
	r, err := st.Verify(plantedID)
	must(t, err)
	if !r.OK() {
		t.Errorf("verify: %+v", r)
	}
}

func TestUnknownKindsSurviveAndAreIgnored(t *testing.T) {
	unknown := `{"id":"b","parent":"a","time":"2026-01-02T03:04:05.000Z","kind":"hologram","depth":[1,{"x":"<"}]}`
	st := plant(t, plainHeader, lineA, unknown, lineC)
	s := open(t, st, plantedID)
	same(t, texts(s), "A C")
	f, err := st.Fork(ctx, plantedID, "")
	must(t, err)
	defer f.Close()
	var found []Unknown
	for e := range f.Entries() {
		if u, ok := e.Body.(Unknown); ok {
			found = append(found, u)
		}
	}
	same(t, len(found), 1)
	same(t, found[0].Name, "hologram")
	var body struct{ Depth []any }
	must(t, json.Unmarshal(found[0].JSON, &body))
	same(t, body.Depth, []any{1.0, map[string]any{"x": "<"}})
	if _, err := s.Add(ctx, Unknown{Name: "x", JSON: json.RawMessage(`{"id":"9"}`)}); err == nil {
		t.Error("a body that changes the envelope was taken")
	}
}

func TestANewerFormatIsRefusedInClearWords(t *testing.T) {
	newer := strings.Replace(plainHeader, `"format":1`, `"format":2`, 1)
	for name, st := range map[string]*Store{
		"header":    plant(t, newer, lineA),
		"continued": plant(t, plainHeader, lineA, `{"kind":"format","format":2}`),
	} {
		_, err := st.Open(ctx, plantedID)
		var v *VersionError
		if !errors.As(err, &v) || v.Version != 2 || !strings.Contains(err.Error(), "update lathe") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinesOfOtherToolsAreReadWhateverTheirOrder(t *testing.T) {
	st := plant(t, plainHeader, lineA,
		`{ "kind" : "user", "message": {"parts":[{"text":"B","type":"text"}],"role":"user"}, "time":"x", "parent":"a", "id":"my id" }`)
	s := open(t, st, plantedID)
	same(t, texts(s), "A B")
	user(t, s, "C")
	same(t, texts(reopen(t, st, s)), "A B C")
}

func TestHostileLinesDoNotStopASession(t *testing.T) {
	at := `"time":"","kind":`
	st := plant(t, plainHeader, lineA,
		`{"id":"a","parent":"a",`+at+`"user","message":{"role":"user","parts":[{"type":"text","text":"twice"}]}}`,
		`{"id":"self","parent":"self",`+at+`"note","text":"x"}`,
		`{"id":"p1","parent":"a",`+at+`"part","index":-5,"part":{"type":"alien"}}`,
		`{"id":"p2","parent":"a",`+at+`"user","message":5}`,
		`{"id":"p3","parent":"a",`+at+`"call_end","result":{"type":"text","text":"x"}}`,
		`{"id":"p4","parent":"a",`+at+`"call_end","result":{"type":"tool_result","call_id":"ghost","parts":[]}}`,
		`{"id":"p5","parent":"a",`+at+`"head","target":"nowhere"}`,
		`{"id":"p6","parent":"a",`+at+`"turn_end","steps":"many"}`,
		"\n", "[]\n", `{"id":"","parent":"",`+at+`"x"}`, `[1}`, `{"id":"p7"`+strings.Repeat(`,"x":[`, 2000)+"}",
		strings.Replace(lineC, `"b"`, `"a"`, 1))
	s := open(t, st, plantedID)
	same(t, texts(s), "A C")
	r, err := st.Verify(plantedID)
	must(t, err)
	if r.OK() {
		t.Error("verify finds nothing")
	}
	must(t, s.AddUser(ctx, llm.UserText("D"), false, false))
	same(t, texts(reopen(t, st, s)), "A C D")
}
