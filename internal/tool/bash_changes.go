package tool

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// changesByWords marks the parts whose words plainly say that they change something.
func changesByWords(command *permission.Command) {
	for i := range command.Parts {
		p := &command.Parts[i]
		words := strings.Fields(p.Text)
		if p.Class.ReadOnly() || len(words) == 0 {
			continue
		}
		verbs, known := changing[p.Program]
		p.Changes = known && (len(verbs) == 0 || slices.ContainsFunc(words[1:],
			func(w string) bool { return slices.Contains(verbs, w) }))
	}
}

var changing = map[string][]string{
	"cp": {}, "mv": {}, "rm": {}, "rmdir": {}, "mkdir": {}, "touch": {}, "tee": {}, "ln": {}, "chmod": {}, "chown": {},
	"patch": {}, "install": {}, "truncate": {}, "dd": {}, "rsync": {}, "unzip": {}, "tar": {},
	"git": {
		"add", "commit", "checkout", "switch", "merge", "rebase", "reset", "restore", "stash", "rm", "mv", "tag", "branch",
		"cherry-pick", "revert", "apply", "am", "clean", "init", "config", "remote", "notes",
	},
	"npm":  {"install", "i", "ci", "add", "remove", "uninstall", "update", "publish", "init", "link"},
	"pnpm": {"install", "i", "add", "remove", "update"}, "yarn": {"install", "add", "remove", "upgrade"},
	"bun": {"install", "add", "remove"}, "pip": {"install", "uninstall"}, "pip3": {"install", "uninstall"},
	"uv": {"add", "remove", "sync", "install"}, "poetry": {"add", "remove", "install", "update"},
	"cargo": {"add", "remove", "update", "init", "new"}, "go": {"get", "mod", "fmt", "install"},
	"sed": {"-i"}, "gofmt": {"-w"}, "prettier": {"--write"},
}
