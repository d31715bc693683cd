//go:build unix

package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAResultCountsTheSubagentsOfTheRun(t *testing.T) {
	d := drive(t, `
reply
  when contains="hello"
  say Hi.
reply
  when contains="the whole" turn=1
  call Task {"description":"delegate","prompt":"delegate this"}
  call Task {"description":"fail","prompt":"fail at this","subagent_type":"Plan"}
reply
  when contains="delegate this" turn=0
  call Task {"description":"look","prompt":"look there","subagent_type":"Explore"}
reply
  when contains="delegate this" turn=1
  say Delegated.
reply
  when contains="look there"
  say Looked.
reply
  when contains="fail at this"
  say Never.
  fault status 400 times=-1
reply
  when contains="the whole" turn=2
  say Done.
`)
	d.send(said("hello", "1"))
	if r := d.kind("result"); r["subagent_stats"] != nil {
		t.Errorf("a run without subagents has stats of them: %v", r["subagent_stats"])
	}
	d.send(said("do the whole thing", "2"))
	r := d.kind("result")
	d.end()
	var want map[string]any
	if err := json.Unmarshal(
		[]byte(`{"spawned":3,"requested":{"background":0,"foreground":0,"unset":3},"started_in_background":0,
		"by_type":{"general-purpose":1,"Plan":1,"Explore":1},"max_depth":2,"spawned_by_subagents":1,"completed":2,"failed":1,
		"killed":{"parent":0,"user":0,"system":0},"refused":{"depth_limit":0,"concurrency_limit":0,"budget":0}}`),
		&want); err != nil {
		t.Fatal(err)
	}
	got, _ := r["subagent_stats"].(map[string]any)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("subagent_stats (-want +got):\n%s\n%v", diff, r)
	}
}
