package program

import (
	"slices"
	"strings"
)

// removers are programs that remove their operands, as rm does.
var removers = set([]string{
	"unlink", "shred", "srm", "wipe", "trash", "trash-put", "trash-rm", "rmtrash", "gvfs-trash", "rimraf", "rimraf-cli",
	"del-cli", "del", "zf_rm", "rip", "rmrf",
})

// pushers are commands that send commits to a remote repository, or have its host merge or tag them, as git push does:
// words that appear in this order among the arguments. A word with | lists alternatives; * matches any ending.
var pushers = map[string][]string{
	"gh": {
		"pr create|new|merge|update-branch|revert", "repo sync|create|new|delete|rename",
		"release create|new|delete|upload", apiWrites,
	},
	"glab": {
		"mr create|new|merge|rebase|for", "repo create|delete", "release create|delete|upload", "stack sync",
		apiWrites,
	},
	"tea": {"pr|pull|pulls create|c|merge|m", "release|releases create|delete"},
	"hub": {
		"pull-request", "sync", "create", "delete", "fork", "release create|delete|edit", "pr merge",
		apiWrites,
	},
	"lab":        {"mr create|new|merge|rebase", "push", "project create"},
	"jj":         {"git push", "gerrit upload"},
	"sl":         {"push", "pr submit|s", "ghstack"},
	"hg":         {"push"},
	"gt":         {"submit|ss|s|sync|merge"},
	"ghstack":    {""},
	"spr":        {"update|u|diff|land|merge"},
	"git-spr":    {"update|u|merge"},
	"av":         {"pr create|queue", "sync", "stack submit|sync"},
	"arc":        {"diff|land|commit"},
	"git-review": {""},
	"lerna":      {"version|publish"},
	"release-it": {""},
	"np":         {""},
	"cargo":      {"release"},
}

const apiWrites = "api -X*|--method*|-f*|-F*|--field*|--raw-field*|--form*|--input*|graphql"

// alike notes commands that deny rules may name instead: rm for a program that removes files, git push for one that
// changes a remote repository.
func (c *call) alike(name string) {
	if removers.has(Plain(name)) || name == "gio" && c.phrase("trash|remove") || packageRunners.has(name) &&
		slices.ContainsFunc(operands(c.args), removerPackage) {
		c.likeRm(operands(c.args))
	}
	if slices.ContainsFunc(pushers[name], c.phrase) {
		c.Alike = append(c.Alike, "git push")
	}
}

// packageRunners run a program out of a package: npx rimraf@6 x.
var packageRunners = set([]string{
	"npx", "npm", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx", "deno", "volta",
	"corepack",
})

// removerPackage reports whether a package, perhaps with its registry, scope and version, holds one of the removers.
func removerPackage(name string) bool {
	name = name[strings.LastIndexAny(name, "/:")+1:]
	name, _, _ = strings.Cut(name, "@")
	return removers.has(name)
}

// likeRm notes the ways to remove these with rm.
func (c *call) likeRm(files []string) {
	names := strings.Join(files, " ")
	for _, rm := range []string{"rm ", "rm -r ", "rm -f ", "rm -rf "} {
		c.Alike = append(c.Alike, rm+names)
	}
}

// operands are the words that are not flags.
func operands(words []Word) []string {
	var out []string
	for _, w := range words {
		if !strings.HasPrefix(w.Text, "-") && w.Text != "" {
			out = append(out, w.Text)
		}
	}
	return out
}

// phrase reports whether the words appear among the arguments in this order. A word known only at run time may be any.
func (c *call) phrase(words string) bool {
	at := 0
	for want := range strings.FieldsSeq(words) {
		i := slices.IndexFunc(c.args[at:], func(w Word) bool { return w.Unknown || w.Glob || isOneOf(w.Text, want) })
		if i < 0 {
			return false
		}
		at += i + 1
	}
	return true
}

func isOneOf(text, list string) bool {
	for want := range strings.SplitSeq(list, "|") {
		prefix, ok := strings.CutSuffix(want, "*")
		if text == want || ok && strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// judgeHub: hub passes its words to git, except for its own subcommands.
func judgeHub(c *call) {
	c.Inner = append(c.Inner, slices.Concat([]Word{{Text: "git"}}, c.args))
}
