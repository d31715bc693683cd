package snapshot_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// beside is another store over the same folders, as that of another process.
func (p *place) beside(o snapshot.Options) *place {
	p.t.Helper()
	q := &place{t: p.t, dir: p.dir, store: p.store}
	q.open(o)
	p.t.(testing.TB).Cleanup(func() { _ = q.s.Close() })
	return q
}

// noise is text that cannot be compressed.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return base64.RawStdEncoding.EncodeToString(b)[:n]
}

func TestAPruneOfAnotherProcessLosesNothingThatThisOneKnows(t *testing.T) {
	p := newPlace(t)
	first := noise(4000)
	p.write("a", first)
	p.step(func() { p.write("a", noise(4000)) })
	p.step(func() { p.write("a", noise(4000)) })
	p.open(snapshot.Options{})
	_, err := p.history().Steps() // it knows all contents now
	p.must(err)
	q := p.beside(snapshot.Options{})
	if done, err := q.s.Prune(1); err != nil || done.Records == 0 {
		t.Fatalf("%+v %v", done, err)
	}
	p.write("a", first)
	p.step(func() { p.write("a", "changed") })
	p.undo(1, nil)
	p.expect("a", first)
	if v, err := p.s.Verify(); err != nil || len(v.Problems) > 0 {
		t.Errorf("%+v %v", v, err)
	}
}

// A process that was stopped while it lets snapshots go holds no one for good.
func TestAWaitForAnotherProcessEndsWithTheTurn(t *testing.T) {
	p := newPlace(t)
	p.step(func() {})
	p.must(p.s.Close())
	other := flock.New(filepath.Join(p.store, "use.lock"))
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := snapshot.New(snapshot.Options{
		Dir: p.store, Roots: func() []string { return []string{p.dir} },
		Wait: func(string) { cancel() },
	})
	if _, err := s.Begin(ctx, snapshot.Where{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	p.must(errors.Join(other.Unlock(), s.Close()))
}

// A process that starts after the prune reads the index, whose contents may be gone.
func TestAPruneLosesNothingThatTheIndexKnows(t *testing.T) {
	p := newPlace(t)
	first := noise(4000)
	p.write("a", first)
	p.step(func() {})
	p.open(snapshot.Options{}) // the index has the first content
	p.step(func() { p.write("a", noise(4000)) })
	_, err := p.s.Prune(1)
	p.must(err)
	q := p.beside(snapshot.Options{})
	q.write("a", first)
	q.step(func() { q.write("a", "changed") })
	q.undo(1, nil)
	q.expect("a", first)
}

func TestTheLimitHoldsWhileSeveralProcessesWrite(t *testing.T) {
	const limit = 200 << 10
	p := newPlace(t)
	p.open(snapshot.Options{Limit: limit})
	q := p.beside(snapshot.Options{Limit: limit})
	for i := range 20 {
		for name, o := range map[string]*place{"p": p, "q": q} {
			o.stepOf(name, "m", nil, func() { o.write(name, noise(20_000)) })
			_, err := o.s.List() // waits for the look after the step
			o.must(err)
			if got := sizeOf(t, p.store); got > limit {
				t.Fatalf("%d bytes after round %d", got, i)
			}
		}
	}
	for name, o := range map[string]*place{"p": p, "q": q} {
		was := o.read(name)
		o.stepOf(name, "m", nil, func() { o.write(name, "changed") })
		plan, err := snapshot.History{Store: o.s, Sessions: []string{name}}.Undo(1)
		o.must(err)
		_, err = plan.Apply(nil)
		o.must(err)
		o.expect(name, was)
		if v, err := o.s.Verify(); err != nil || len(v.Problems) > 0 {
			t.Errorf("%+v %v", v, err)
		}
	}
}

func sizeOf(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	list, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

// While the command of one conversation runs, another one edits a file: it is no one's to take back but the other's.
func TestAnEditOfAnotherConversationBesideACommandIsNotTakenBackSilently(t *testing.T) {
	for _, order := range []string{"the edit ends first", "the command ends first"} {
		t.Run(order, func(t *testing.T) {
			p := newPlace(t)
			p.write("a", "before")
			p.write("b", "before")
			p.step(func() {})
			q := p.beside(snapshot.Options{})
			endCommand, err := p.s.Begin(t.Context(), snapshot.Where{Session: sessionID, Message: "m1", Title: "a command"}, nil)
			p.must(err)
			endEdit, err := q.s.Begin(t.Context(), snapshot.Where{Session: "other", Message: "m1", Title: "an edit"},
				[]string{p.path("b")})
			p.must(err)
			p.write("a", "by the command")
			p.write("b", "by the edit")
			if order == "the edit ends first" {
				endEdit()
				endCommand()
			} else {
				endCommand()
				_, err = p.history().Steps() // waits for the look after the command
				p.must(err)
				endEdit()
			}
			p.undo(1, nil)
			p.expect("a", "before")
			p.expect("b", "by the edit")
		})
	}
}

// A process in a container has the number that the one before had, which was killed.
func TestAStepOfADeadProcessWithTheSameNumberIsInterrupted(t *testing.T) {
	p := newPlace(t)
	p.write("a", "before")
	q := p.beside(snapshot.Options{})
	_, err := q.s.Begin(t.Context(), snapshot.Where{Session: sessionID, Message: "m1", Title: "killed"}, nil)
	p.must(err)
	p.write("a", "changed")
	q.s.Abandon()
	p.step(func() {})
	p.undo(1, nil)
	p.expect("a", "before")
}
