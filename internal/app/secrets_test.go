package app

import (
	"slices"
	"testing"
)

func TestValuesOfVariablesWithSecretNamesReachNoRecord(t *testing.T) {
	inst, err := newPlace(t, nil).with(t, `{"env": {"DEPLOY_TOKEN": "from-settings"}}`, []string{"MY_DB_PASSWORD=hunter2hunter2", "SSH_AUTH_SOCK=/run/agent", "EDITOR=vi"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := inst.secrets()
	for value, want := range map[string]bool{"hunter2hunter2": true, "from-settings": true, "/run/agent": false, "vi": false} {
		if slices.Contains(got, value) != want {
			t.Errorf("%q is a secret: %v, want %v", value, !want, want)
		}
	}
}
