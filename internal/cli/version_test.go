package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionFallsBackOnWhatTheBuildRecorded(t *testing.T) {
	stamped := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	for _, tt := range []struct {
		name, version, commit string
		info                  *debug.BuildInfo
		wantV, wantC          string
	}{
		{"linker wins", "v2.0.0", "feedc0ffee12", stamped, "v2.0.0", "feedc0ffee12"},
		{"stamps", "", "", stamped, "v1.2.3", "0123456789ab-dirty"},
		{"nothing known", "", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "dev", "commit unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, c := buildVersion(tt.version, tt.commit, tt.info)
			if v != tt.wantV || c != tt.wantC {
				t.Errorf("got %q, %q; want %q, %q", v, c, tt.wantV, tt.wantC)
			}
		})
	}
	if line := versionLine(); !strings.HasPrefix(line, "lathe ") || !strings.Contains(line, "go1.") {
		t.Errorf("version line %q", line)
	}
}
