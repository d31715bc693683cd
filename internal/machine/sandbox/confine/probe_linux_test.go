//go:build amd64 || arm64

package confine

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A machine where the setting up of a sandbox hangs has none; lathe starts all the same.
func TestAProbeThatHangsIsGivenUp(t *testing.T) {
	carrier := filepath.Join(t.TempDir(), "carrier")
	if err := os.WriteFile(carrier, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	was := probeLimit
	probeLimit = 20 * time.Millisecond
	defer func() { probeLimit = was }()
	if Probe(Support{Tier: Full, ABI: 6, Carrier: carrier}) == nil {
		t.Error("the boundary of a carrier that does nothing held")
	}
}
