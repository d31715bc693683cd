package console

import "testing"

// The commands about longer work.
func init() {
	exercises["goal"] = func(t *testing.T, s *seat, _ *place) {
		s.shows("goal", "", "There is no goal")
		s.refuses("goal", "--rounds x", "--rounds needs a value")
		s.refuses("goal", "--speed 3 fast", "has no option --speed")
		if p := s.command("goal", "--check 'go test ./...' --time 2h it is green").Prompt; p.PlainText() != "it is green" {
			t.Errorf("%+v", p)
		}
		s.shows("goal", "", "Goal (active): `it is green`", "decided by `go test ./...`", "0 rounds")
		if g := s.Status().Goal; g == nil || g.Condition != "it is green" {
			t.Errorf("%+v", g)
		}
		s.shows("goal", "clear", "cleared")
		s.shows("goal", "clear", "No goal is active")
	}
}
