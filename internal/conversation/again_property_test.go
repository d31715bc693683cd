package conversation_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// usedFile is a file that a conversation read, and perhaps changed, removed or lost to a folder.
type usedFile struct {
	name            string
	lines           int
	text            string
	used            int // the later the larger
	changed, absent bool
}

// shown is the size of its text with line numbers.
func (f usedFile) shown() int {
	n := len(f.text)
	for i := range f.lines {
		n += len(strconv.Itoa(i+1)) + 1
	}
	return n
}

// Whatever a conversation read and changed, after a summary the files that were changed come first, then those used
// last; as many as fit are there in full, within the budget. Only these can be changed without reading them.
func TestTheFilesThatAreReadAgainFollowTheBudget(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for n := range 10 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			threshold, most := 170_000, 900 // lines of a file
			if n%3 == 0 {
				threshold, most = 60_000, 300
			}
			checkAgain(t, random, threshold, most)
		})
	}
}

func checkAgain(t *testing.T, random *rand.Rand, threshold, most int) {
	files := make([]usedFile, 1+random.IntN(14))
	script := &llmtest.Script{Order: "arrival", NoTools: &llmtest.Reply{Parts: []llmtest.Part{llmtest.Text(summaryText)}}}
	step := func(part llmtest.Part) int {
		script.Replies = append(script.Replies, llmtest.Say(part))
		return len(script.Replies)
	}
	for i := range files {
		f := &files[i]
		f.name, f.lines = fmt.Sprintf("f%d.txt", i), 1+random.IntN(most)
		f.text = strings.Repeat(fmt.Sprintf("a line of %d\n", i), f.lines)
		f.used = step(readCall(f.name))
	}
	p := newPlace(t, script)
	for _, f := range files {
		p.write(t, f.name, f.text)
	}
	for _, i := range random.Perm(len(files))[:random.IntN(len(files))] {
		f := &files[i]
		old := fmt.Sprintf("a line of %d\n", i)
		f.used = step(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/" + f.name, "old_string": old,
			"new_string": "b" + old, "replace_all": true,
		}))
		f.changed, f.text = true, strings.ReplaceAll(f.text, old, "b"+old)
	}
	for _, i := range random.Perm(len(files))[:random.IntN(len(files))] {
		files[i].used = step(readCall(files[i].name))
	}
	for range 5 {
		step(llmtest.Text("Yes."))
	}
	p.vars = append(p.vars, fmt.Sprintf("ANTHROPIC_COMPACTION_THRESHOLD=%d", threshold))
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Allowed = []string{"Edit"} }),
		conversation.SessionOptions{})
	for range 5 {
		say(t, s, "go on")
	}
	spoil(t, p, random, files)
	if _, err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	want := expectedAgain(files, min(28_000, threshold/10*3))
	m := s.Messages()[0]
	var got []string
	for _, name := range session.Attached(m) {
		name, _, _ = strings.Cut(name, " (")
		got = append(got, name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("read again: %q, want %q of %+v", got, want, files)
	}
	room := min(28_000, threshold/10*3)
	for _, f := range files {
		seen, known := s.Env().Reads.Get(filepath.Join(p.dir, f.name))
		if again := slices.Contains(want, f.name); again != (known && seen.Whole()) || again && strings.Count(m.PlainText(),
			"line of "+strings.TrimSuffix(f.name[1:], ".txt")+"\n") != f.lines {
			t.Errorf("%s: known %v, whole %v, read again %v", f.name, known, seen.Whole(), again)
		} else if again {
			room -= f.shown()
		}
	}
	if room < 0 {
		t.Errorf("%d bytes more than the budget", -room)
	}
}

// spoil removes some of the files, or puts a folder in their place.
func spoil(t *testing.T, p *place, random *rand.Rand, files []usedFile) {
	t.Helper()
	for i := range files {
		if random.IntN(8) > 0 {
			continue
		}
		files[i].absent = true
		path := filepath.Join(p.dir, files[i].name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if random.IntN(2) == 0 {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// expectedAgain are the names of the files that are to be read again, the most important one first.
func expectedAgain(files []usedFile, room int) (out []string) {
	latest := slices.SortedFunc(slices.Values(files), func(a, b usedFile) int { return cmp.Compare(b.used, a.used) })
	latest = latest[:min(10, len(latest))]
	slices.SortStableFunc(latest, func(a, b usedFile) int {
		switch {
		case a.changed == b.changed:
			return 0
		case a.changed:
			return -1
		}
		return 1
	})
	for _, f := range latest {
		if size := f.shown(); len(out) < 5 && !f.absent && size <= min(room, 14_000) {
			out, room = append(out, f.name), room-size
		}
	}
	return out
}

// A file that was changed stays one that was changed, also when it was read again since.
func TestAChangedFileComesFirstAfterTheSecondSummaryToo(t *testing.T) {
	p := againPlace(t, llmtest.Say(readCall("late.txt")), llmtest.Say(llmtest.Text("Read.")),
		llmtest.Say(llmtest.Text("Yes.")), llmtest.Say(llmtest.Text("Yes.")), llmtest.Say(llmtest.Text("Yes.")))
	p.write(t, "late.txt", "one line\n")
	s := p.work(t)
	for n := range 2 {
		if _, err := s.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if names := session.Attached(s.Messages()[0]); len(names) == 0 || names[0] != "edited.txt (1 line)" {
			t.Errorf("after summary %d: %q", n+1, names)
		}
		if n == 0 {
			for range 4 {
				say(t, s, "more")
			}
		}
	}
	if text := llm.Message.PlainText(s.Messages()[0]); !strings.Contains(text, "one line") {
		t.Error("the file that was read last is not there")
	}
}
