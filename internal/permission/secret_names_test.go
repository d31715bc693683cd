package permission

import "testing"

// The places that the sandbox hides are those that the Read tool and the shell ask about.
func TestSecretsOfTheHomeFolderAreSecretAnywhere(t *testing.T) {
	names := HomeSecrets()
	for _, name := range names {
		file, _, _ := SecretPath("src/" + name)
		below, _, _ := SecretPath("src/" + name + "/x")
		if file == "" && below == "" {
			t.Errorf("%s is no secret", name)
		}
	}
	if len(names) < 30 {
		t.Errorf("only %d names", len(names))
	}
}
