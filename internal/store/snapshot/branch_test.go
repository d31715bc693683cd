package snapshot_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// branches makes two branches after the message m1: m2, whose files were taken back, and m3, whose files are in place.
func branches(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.write("a", "1\n")
	p.stepOf(sessionID, "m1", nil, func() { p.write("a", "1\nfirst\n") })
	p.stepOf(sessionID, "m2", nil, func() { p.write("a", "2\nfirst\n"); p.write("only/two", "x") })
	p.stepOf(sessionID, "m2", nil, func() { p.write("a", "2\nfirst\nmore\n") })
	plan, err := p.history().Since([]string{"m2"})
	p.must(err)
	_, err = plan.Apply(nil)
	p.must(err)
	p.stepOf(sessionID, "m3", nil, func() { p.write("a", "3\nfirst\n"); p.write("three", "y") })
	_, err = p.history().Steps() // waits for the look after the step
	p.must(err)
	return p
}

func (p *place) switchTo(away, back string, choose func(snapshot.PlannedFile) snapshot.Choice) snapshot.Outcome {
	p.t.Helper()
	plan, err := p.history().Switch([]string{away}, []string{back})
	p.must(err)
	out, err := plan.Apply(choose)
	p.must(err)
	return out
}

func TestASwitchOfBranchesBringsTheFilesOfTheOther(t *testing.T) {
	p := branches(t)
	is := func(a, two, three string) {
		t.Helper()
		p.expect("a", a)
		p.expect("only/two", two)
		p.expect("three", three)
	}
	is("3\nfirst\n", "(none)", "y")
	p.switchTo("m3", "m2", nil)
	is("2\nfirst\nmore\n", "x", "(none)")
	p.redo()
	is("3\nfirst\n", "(none)", "y")
	p.switchTo("m3", "m2", nil)
	p.switchTo("m2", "m3", nil)
	is("3\nfirst\n", "(none)", "y")
	p.undo(2, nil) // the step of m3 and that of m1
	is("1\n", "(none)", "(none)")
}

func TestASwitchOfBranchesLeavesTheFilesOfOthersAlone(t *testing.T) {
	p := branches(t)
	p.write("a", "3\nfirst\nmine\n")
	p.must(os.Remove(p.path("three")))
	out := p.switchTo("m3", "m2", nil)
	if len(out.Left) != 1 || !strings.Contains(out.Left[0].Blocked, "somebody else") {
		t.Errorf("left: %+v", out.Left)
	}
	p.expect("a", "3\nfirst\nmine\n")
	p.expect("only/two", "x")
	p.expect("three", "(none)")
}

func TestTheDifferenceOfTwoBranchesLeadsFromOneToTheOther(t *testing.T) {
	p := branches(t)
	changes, err := p.history().Between([]string{"m3"}, []string{"m2"})
	p.must(err)
	var text strings.Builder
	for _, c := range changes {
		text.WriteString(p.s.Diff(c).Text)
	}
	for _, want := range []string{"-3\n", "+2\n", "+more\n", "+++ b/only/two", "--- a/three"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	turns, err := p.history().Turns()
	p.must(err)
	if len(turns["m1"]) != 1 || len(turns["m2"]) != 3 || len(turns["m3"]) != 2 { // m2: a, only and only/two
		t.Errorf("%+v", turns)
	}
}

// A step that the user undid on its branch does not come back with the branch.
func TestAnUndoneStepIsNoPartOfItsBranch(t *testing.T) {
	p := branches(t)
	p.undo(1, nil)
	p.switchTo("m3", "m2", nil)
	plan, err := p.history().Switch([]string{"m2"}, []string{"m3"})
	p.must(err)
	_, err = plan.Apply(nil)
	p.must(err)
	p.expect("three", "(none)")
	p.expect("a", "1\nfirst\n")
	if _, err := p.history().Switch(nil, []string{"m3"}); !errors.Is(err, snapshot.ErrNothing) {
		t.Errorf("%v", err)
	}
}
