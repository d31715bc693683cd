package sandbox

import (
	"errors"
	"os"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// tiers are those that this machine has; one that it lacks is skipped with its reason.
func tiers(t *testing.T, test func(*testing.T, confine.Support)) {
	found := confine.Detect()
	own := confine.Support{Tier: confine.Full, ABI: found.ABI, User: os.Getuid() != 0}
	// lathe takes another tier: show what this one lets through
	if _, hole := errors.AsType[*confine.HoleError](confine.Probe(own)); hole {
		found = own
	}
	if os.Getenv(carrierNeeded) != "" && found.Carrier == "" {
		t.Fatalf("bubblewrap is not used: tier %s: %s", found.Tier, found.Why)
	}
	for _, tier := range []confine.Tier{confine.Full, confine.Landlock} {
		t.Run(tier.String(), func(t *testing.T) {
			s := found
			if tier > found.Tier {
				t.Skipf("this machine has no tier %s: %s", tier, found.Why)
			}
			if tier < found.Tier {
				s = confine.Support{Tier: tier, ABI: found.ABI}
			}
			test(t, s)
		})
	}
	if found.Tier == confine.Full && found.Carrier == "" {
		t.Run("full by bubblewrap", func(t *testing.T) {
			s := confine.Support{Tier: confine.Full, ABI: found.ABI, Carrier: confine.Bubblewrap()}
			if s.Carrier == "" {
				t.Skip("bubblewrap is not installed")
			}
			probed(t, s)
			test(t, s)
		})
	}
	if found.Tier == confine.Full && !found.User {
		t.Run("full with a user namespace", func(t *testing.T) {
			s := confine.Support{Tier: confine.Full, ABI: found.ABI, User: true}
			probed(t, s)
			test(t, s)
		})
	}
}

// probed skips the test where the machine lacks the tier. A tier that is there and does not hold is a failure.
func probed(t *testing.T, s confine.Support) {
	t.Helper()
	err := confine.Probe(s)
	if hole, ok := errors.AsType[*confine.HoleError](err); ok {
		t.Fatal(hole)
	}
	if err != nil {
		t.Skipf("this machine lacks it: %v", err)
	}
}

// TestConfinedProbesFindNoHole looks at each way to make the tiers. Where one has a hole lathe takes another, so the
// other tests would not show it.
func TestConfinedProbesFindNoHole(t *testing.T) {
	abi := confine.Detect().ABI
	for name, s := range map[string]confine.Support{
		"own namespaces": {Tier: confine.Full, ABI: abi, User: os.Getuid() != 0}, "user namespace": {
			Tier: confine.Full,
			ABI:  abi, User: true,
		},
		"bubblewrap": {Tier: confine.Full, ABI: abi, Carrier: confine.Bubblewrap()}, "landlock": {
			Tier: confine.Landlock,
			ABI:  abi,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "bubblewrap" && s.Carrier == "" {
				t.Skip("bubblewrap is not installed")
			}
			probed(t, s)
		})
	}
}

func full(t *testing.T) confine.Support {
	t.Helper()
	s := confine.Detect()
	if s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	return s
}
