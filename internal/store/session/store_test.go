package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/llm"
)

func TestSlugsAreClaudeCodes(t *testing.T) {
	long := "/" + strings.Repeat("a", 250)
	for path, want := range map[string]string{
		"/home/a/my.app":       "-home-a-my-app",
		"/tmp/e\u0301x":        "-tmp--x", // NFC: one letter outside ASCII
		"/tmp/\U0001F600":      "-tmp---", // two UTF-16 units
		`C:\Users\me\Work_dir`: "C--Users-me-Work-dir",
		long:                   "",
	} {
		if path == long { // the hash as the JavaScript of the SDK has it: h = (h<<5) - h + c, 32 bits
			var h int32
			for _, c := range path {
				h = h*31 + int32(c)
			}
			want = "-" + strings.Repeat("a", 199) + "-" + base36(h)
		}
		if got := slug(path); got != want {
			t.Errorf("slug(%q) = %q, want %q", path, got, want)
		}
	}
}

func base36(h int32) string {
	n := int64(h)
	if n < 0 {
		n = -n
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	out := ""
	for ; n > 0; n /= 36 {
		out = string(digits[n%36]) + out
	}
	return out
}

func TestASessionIDMustBeANewUUID(t *testing.T) {
	st := newStore(t)
	dir := t.TempDir()
	id := uuid.NewString()
	s, err := st.Create(ctx, Meta{Dir: dir, ID: id})
	must(t, err)
	user(t, s, "x")
	must(t, s.Close())
	same(t, s.ID(), id)
	if _, err := st.Create(ctx, Meta{Dir: t.TempDir(), ID: strings.ToUpper(id)}); err == nil ||
		!strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second session %s: %v", id, err)
	}
	for _, bad := range []string{"x", "../../../../etc", "{" + id + "}", "urn:uuid:" + id} {
		if _, err := st.Create(ctx, Meta{Dir: dir, ID: bad}); err == nil || !strings.Contains(err.Error(), "UUID") {
			t.Errorf("id %q: %v", bad, err)
		}
		if _, err := st.Open(ctx, bad); err == nil {
			t.Errorf("id %q was opened", bad)
		}
	}
}

// seed makes sessions in dir with the given first prompts, the last one newest, and closes them.
func seed(t testing.TB, st *Store, dir string, prompts ...string) []string {
	t.Helper()
	var ids []string
	for i, p := range prompts {
		s, err := st.Create(ctx, Meta{Dir: dir, Model: "m"})
		must(t, err)
		user(t, s, p)
		must(t, s.Close())
		at := time.Now().Add(time.Duration(i-100) * time.Minute)
		must(t, os.Chtimes(s.Path(), at, at))
		ids = append(ids, s.ID())
	}
	return ids
}

func TestLatestIsTheNewestOfTheFolder(t *testing.T) {
	st := newStore(t)
	root := t.TempDir()
	dir, other := filepath.Join(root, "a.b"), filepath.Join(root, "a-b") // the same slug
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Mkdir(other, 0o700))
	if _, err := st.Latest(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("no session yet: %v", err)
	}
	ids := seed(t, st, dir, "one", "two")
	seed(t, st, other, "elsewhere", "elsewhere", "elsewhere")
	sub, err := st.Create(ctx, Meta{Dir: dir, Agent: "explore", Parent: ids[0]})
	must(t, err)
	user(t, sub, "a subagent's")
	must(t, sub.Close())
	link := filepath.Join(root, "link")
	must(t, os.Symlink(dir, link))
	for _, d := range []string{dir, link} {
		info, err := st.Latest(d)
		must(t, err)
		same(t, info.ID, ids[1])
		same(t, info.FirstPrompt, "two")
	}
}

func TestLatestKnowsAFolderWhoseNameIsNotUTF8(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bad\xff\xfe")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skip(err) // some systems take no such name
	}
	st := newStore(t)
	ids := seed(t, st, dir, "one")
	info, err := st.Latest(dir)
	must(t, err)
	same(t, info.ID, ids[0])
}

func TestFindTakesIDsPrefixesAndTitles(t *testing.T) {
	st := newStore(t)
	here, there := t.TempDir(), t.TempDir()
	ids := seed(t, st, here, "one", "two")
	far := seed(t, st, there, "three")
	s := open(t, st, far[0])
	must(t, s.SetTitle(ctx, "The Far One"))
	must(t, s.Close())

	unique := ids[0][:len(ids[0])-1]
	for ids[1][:len(unique)] == unique {
		t.Fatal("two ids in a row")
	}
	for name, want := range map[string]string{
		ids[0]: ids[0], unique: ids[0], strings.ToUpper(ids[1]): ids[1],
		far[0]: far[0], "the far one": far[0],
	} {
		info, err := st.Find(here, name)
		if err != nil || info.ID != want {
			t.Errorf("find %q: %v, %v", name, info.ID, err)
		}
	}
	_, err := st.Find(here, ids[0][:2])
	if err == nil || !strings.Contains(err.Error(), ids[0]) || !strings.Contains(err.Error(), ids[1]) ||
		strings.Contains(err.Error(), far[0]) {
		t.Errorf("ambiguous: %v", err)
	}
	typo := ids[0][:20] + "zzzz"
	if _, err := st.Find(here, typo); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "nearest") ||
		!strings.Contains(err.Error(), ids[0]) {
		t.Errorf("mistyped: %v", err)
	}
	if _, err := st.Find(here, "nope"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "newest are "+
		ids[1]) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := newStore(t).Find(here, "nope"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty store: %v", err)
	}
}

func TestAListShowsWhatTheEndsOfALogSay(t *testing.T) {
	st := newStore(t)
	dir := t.TempDir()
	s, err := st.Create(ctx, Meta{Dir: dir, Model: "m0"})
	must(t, err)
	msg := llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "Linux", Origin: llm.OriginContext},
		llm.Text{Text: "fix the \"bug\"\n" + strings.Repeat("é", 30_000)}, // longer than the head that is read
	}}
	must(t, s.AddUser(ctx, msg, false, false))
	must(t, s.SetModel(ctx, "m1"))
	must(t, s.SetTitle(ctx, "Bug"))
	must(t, s.AddReply(ctx, reply(llm.Text{Text: strings.Repeat("x", 50_000)})))
	must(t, s.EndTurn(ctx, TurnEnd{CostUSD: 0.25}))
	user(t, s, "more")
	must(t, s.AddReply(ctx, reply(llm.Text{Text: strings.Repeat("y", 50_000)})))
	want := s.Info()
	must(t, s.Close())
	var got []Info
	for info, err := range st.List(dir) {
		must(t, err)
		got = append(got, info)
	}
	same(t, got, []Info{want})
	if !strings.HasPrefix(want.FirstPrompt, `fix the "bug" ééé`) || want.Title != "Bug" || want.Turns != 1 ||
		want.CostUSD != 0.25 || want.Model != "m1" {
		t.Errorf("%+v", want)
	}
	same(t, len([]rune(want.FirstPrompt)), maxPrompt)
}

func TestAListMarksDamageAndPassesStrangeFoldersOver(t *testing.T) {
	st := plant(t, plainHeader, lineA, "broken\n")
	must(t, os.MkdirAll(filepath.Join(st.projects, "p", "not-a-session"), 0o700))
	must(t, os.MkdirAll(filepath.Join(st.projects, "p", uuid.NewString()), 0o700)) // no log in it
	must(t, os.WriteFile(filepath.Join(st.projects, "file"), nil, 0o600))
	n := 0
	for info, err := range st.List("") {
		must(t, err)
		n++
		same(t, info.ID, plantedID)
		same(t, info.FirstPrompt, "A")
		same(t, info.Damaged, true)
	}
	same(t, n, 1)
}

func TestAForkIsACopyThatGoesItsOwnWay(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	oneTurn(t, s)
	at := s.Head()
	path, err := s.Blob(ctx, "out.log", []byte("output"))
	must(t, err)
	user(t, s, "second")
	must(t, s.SetTitle(ctx, "Named later"))
	before, err := os.ReadFile(s.Path())
	must(t, err)

	f, err := st.Fork(ctx, s.ID(), "") // s is open here
	must(t, err)
	defer f.Close()
	same(t, f.Messages(), s.Messages())
	same(t, f.Dir(), s.Dir())
	i := f.Info()
	if !i.Forked || i.Parent != s.ID() || i.Title != "Named later" || f.ID() == s.ID() {
		t.Errorf("%+v", i)
	}
	same(t, f.BlobDirs(), []string{f.Blobs(), s.Blobs()})
	data, err := os.ReadFile(filepath.Join(f.Blobs(), filepath.Base(path)))
	must(t, err)
	same(t, string(data), "output")

	early, err := st.Fork(ctx, s.ID(), at)
	must(t, err)
	defer early.Close()
	same(t, early.Messages(), s.Messages()[:4])
	same(t, early.Info().Title, "Named later")
	user(t, early, "another way")

	after, err := os.ReadFile(s.Path())
	must(t, err)
	same(t, after, before)
	for _, x := range []*Session{f, early} {
		r, err := st.Verify(x.ID())
		must(t, err)
		if !r.OK() {
			t.Errorf("verify: %+v", r)
		}
	}
	if _, err := st.Fork(ctx, s.ID(), "nowhere"); err == nil {
		t.Error("forked at an unknown entry")
	}
}

func TestAForkOfADamagedSessionIsSound(t *testing.T) {
	st := plant(t, plainHeader, lineA, "lost\n", lineC)
	f, err := st.Fork(ctx, plantedID, "")
	must(t, err)
	defer f.Close()
	same(t, texts(f), "A C")
	r, err := st.Verify(f.ID())
	must(t, err)
	if !r.OK() {
		t.Errorf("verify: %v", r.Damage)
	}
}

func TestRemoveLeavesNothing(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "x")
	_, err := s.Blob(ctx, "x", []byte("x"))
	must(t, err)
	must(t, s.Close())
	must(t, st.Remove(s.ID()))
	if _, err := os.Stat(s.Folder()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if err := st.Remove(s.ID()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removing it twice: %v", err)
	}
}

func TestBlobsAreNamedByContentAndKeptOnce(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "x")
	a, err := s.Blob(ctx, "a.PNG", []byte("same"))
	must(t, err)
	b, err := s.Blob(ctx, "../../b.png", []byte("same"))
	must(t, err)
	same(t, a, b)
	w, err := s.BlobWriter(ctx, "weird.$(x)")
	must(t, err)
	for i := range 1000 {
		fmt.Fprintf(w, "line %d\n", i)
	}
	c, err := w.Commit()
	must(t, err)
	if filepath.Dir(c) != s.Blobs() || filepath.Ext(c) != ".txt" || filepath.Ext(a) != ".png" {
		t.Errorf("paths %s, %s", a, c)
	}
	dropped, err := s.BlobWriter(ctx, "x")
	must(t, err)
	must(t, dropped.Close())
	files, err := os.ReadDir(s.Blobs())
	must(t, err)
	same(t, len(files), 2)
	st2, err := os.Stat(c)
	must(t, err)
	same(t, st2.Mode().Perm(), os.FileMode(0o600))

	must(t, os.WriteFile(a, []byte("sane"), 0o600))
	must(t, os.Remove(c))
	r, err := st.Verify(s.ID())
	must(t, err)
	same(t, r.Changed, []string{filepath.Base(a)})
	same(t, r.Missing, []string{filepath.Base(c)})
	again, err := s.Blob(ctx, "a.png", []byte("same")) // the changed file is not taken for it
	must(t, err)
	data, err := os.ReadFile(again)
	must(t, err)
	same(t, string(data), "same")
}

// An export for people has what they wrote and read: Markdown is rendered, reminders and context are left out.
func TestExportsAreForPeople(t *testing.T) {
	s := create(t, newStore(t))
	m := llm.UserText("make **it** <b>bold</b>")
	m.Parts = append(m.Parts, llm.Text{
		Origin: llm.OriginContext, Text: "<system-reminder>\nWorking folder: /x\n</system-reminder>",
	})
	must(t, s.AddUser(ctx, m, false, false))
	must(t, s.AddReply(ctx, reply(llm.Text{Text: "" +
		"# Done\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n[x](javascript:alert(1))"})))
	must(t, s.AddUser(ctx, llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{
		Origin: llm.OriginReminder, Text: "<system-reminder>\nStop hook: test it\n</system-reminder>",
	}}}, false, true))
	for _, f := range []ExportFormat{Markdown, HTML} {
		var b bytes.Buffer
		must(t, Export(&b, s, f))
		for _, no := range []string{"system-reminder", "Working folder"} {
			if strings.Contains(b.String(), no) {
				t.Errorf("%s has %q:\n%s", f, no, b.String())
			}
		}
		if !strings.Contains(b.String(), "Stop hook: test it") {
			t.Errorf("%s", b.String())
		}
		if f == HTML && (!strings.Contains(b.String(), "<strong>it</strong> &lt;b&gt;bold") ||
			!strings.Contains(b.String(), "<td><code>2</code></td>") || strings.Contains(b.String(), "javascript")) {
			t.Errorf("%s", b.String())
		}
	}
}

func TestExportsHoldTheConversation(t *testing.T) {
	s := create(t, newStore(t))
	user(t, s, "fix <script>alert(1)</script>")
	c := toolCall("a")
	must(t, s.AddReply(ctx, reply(llm.Reasoning{Text: "let me see"}, llm.Text{Text: "I look."}, c)))
	must(t, s.EndCall(ctx, CallEnd{
		Result: llm.TextResult(c, "out ``` </pre><img src=x onerror=y>", false), Title: "ls \"<x>\"", Duration: time.Second,
		View: []byte(`{"shape":"diff","unified":"-old <b>\n+new\n"}`),
	}))
	must(t, s.AddReply(ctx, reply(llm.Media{MIME: "image/png", Data: []byte("png"), Name: `"><script>`},
		llm.Text{Text: "Done."})))
	out := map[ExportFormat]string{}
	for _, f := range []ExportFormat{JSONL, Markdown, HTML} {
		var b bytes.Buffer
		must(t, Export(&b, s, f))
		out[f] = b.String()
	}
	log, err := os.ReadFile(s.Path())
	must(t, err)
	same(t, out[JSONL], string(log))
	for _, want := range []string{
		"## User", "fix <script>", "<summary>Reasoning</summary>", "### Bash: ls",
		"```diff\n-old <b>\n+new\n```", "Done.",
	} {
		if !strings.Contains(out[Markdown], want) {
			t.Errorf("markdown lacks %q:\n%s", want, out[Markdown])
		}
	}
	for _, want := range []string{
		"Content-Security-Policy", "&lt;script&gt;alert(1)", "<ins>+new\n</ins>",
		"<details class=\"call\">", "Done.", "data:image/png;base64,cG5n", "prefers-color-scheme",
	} {
		if !strings.Contains(out[HTML], want) {
			t.Errorf("html lacks %q:\n%s", want, out[HTML])
		}
	}
	for _, no := range []string{"<script", "<img src=x", "http://", "https://"} {
		if strings.Contains(out[HTML], no) {
			t.Errorf("html has %q", no)
		}
	}
	if err := Export(&bytes.Buffer{}, s, "pdf"); err == nil || !strings.Contains(err.Error(), "jsonl, markdown and html") {
		t.Errorf("unknown format: %v", err)
	}
}

func TestEntriesAreTheBranchAndAllIsTheFile(t *testing.T) {
	s := create(t, newStore(t))
	user(t, s, "one")
	at := s.Head()
	user(t, s, "two")
	must(t, s.Checkout(at))
	user(t, s, "three")
	kinds := func(seq func(func(Entry) bool)) []string {
		var out []string
		for e := range seq {
			out = append(out, e.Body.Kind())
		}
		return out
	}
	same(t, kinds(s.Entries()), []string{"user", "user"})
	same(t, kinds(s.All()), []string{"user", "user", "head", "user"})
	e := slices.Collect(s.Entries())[1]
	same(t, e.Parent, at)
	if e.Time.IsZero() || e.Body.(User).Message.PlainText() != "three" {
		t.Errorf("%+v", e)
	}
}
