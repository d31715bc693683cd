package cli

import "testing"

func TestTheFlagTrustHoldsForTheValuesAtTheStart(t *testing.T) {
	start := trustedStart{}
	if !start.trusts("/p", "first") {
		t.Error("the values at the start are not trusted")
	}
	start.loaded, start.digest = true, "first"
	if !start.trusts("/p", "first") || start.trusts("/p", "second") {
		t.Error("after the start other values than those are trusted")
	}
	none := trustedStart{loaded: true}
	if none.trusts("/p", "planted") {
		t.Error("values that were not there at the start are trusted")
	}
}
