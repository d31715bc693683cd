package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

func TestAMistakeInAFileOfOursNamesPlaceKeyFoundAndAllowed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"wrong type": {
			"{\n  \"maxTurns\": \"many\"\n}",
			`:2:15: maxTurns: found "many", allowed: a whole number, at least 0`,
		},
		"wrong choice": {
			`{"effort": "hihg"}`,
			`:1:12: effort: found "hihg", allowed: "off", "low", "medium", "high", "xhigh", "max"; did you mean "high"?`,
		},
		"nested": {
			"{ // ünï\n\"bash\": {/* ü */ \"maxTimeoutMs\": 0}}",
			`:2:34: bash.maxTimeoutMs: found 0, allowed: a whole number, at least 1`,
		},
		"fraction": {
			`{"maxOutputTokens": 1.5}`,
			`:1:21: maxOutputTokens: found 1.5, allowed: a whole number, at least 1`,
		},
		"budget":  {`{"maxBudgetUsd": 0}`, `:1:18: maxBudgetUsd: found 0, allowed: a number above 0`},
		"list":    {`{"skillDirs": "x"}`, `:1:15: skillDirs: found "x", allowed: an array, each a path`},
		"element": {`{"skillDirs": ["x", 1]}`, `:1:21: skillDirs[1]: found 1, allowed: a path`},
		"object": {
			`{"permissions": []}`,
			`:1:17: permissions: found an array, allowed: an object; correct it or take it out: rules that restrict are never skipped`,
		},
		"two types": {
			`{"fallbackModel": 3}`,
			`:1:19: fallbackModel: found 3, allowed: a string that is not empty or an array of at most 3, each a string that is not empty`,
		},
		"null": {`{"model": null}`, `:1:11: model: found null, allowed: a string that is not empty`},
		"not a url": {
			`{"apiBase": "localhost:80"}`,
			`:1:13: apiBase: found "localhost:80", allowed: a URL that begins with http:// or https://`,
		},
		"secret not told": {
			`{"providers": {"x": {"apiKey": 12345}}}`,
			`:1:32: providers.x.apiKey: found a value that is not shown here, allowed: a string`,
		},
		"odd key": {
			`{"providers": {"my.corp": {"type": "x"}}}`,
			`:1:36: providers["my.corp"].type: found "x", allowed: "anthropic", "openai", "responses", "google", "bedrock", "converse", "vertex"`,
		},
		"several": {
			`{"debug": 1, "theme": 2, "model": 3}`,
			`:1:11: debug: found 1, allowed: true or false (and 2 more in this file)`,
		},
		"twice": {
			"{\"debug\": true,\n\"debug\": false}",
			`:2:1: debug: the key appears twice in this object; remove one`,
		},
		"control bytes": {
			`{"effort": "\u001b[31m"}`,
			`:1:12: effort: found "\x1b[31m", allowed: "off", "low", "medium", "high", "xhigh", "max"`,
		},
		"not an object": {"\n[1]", `:2:1: found an array, allowed: an object: { "key": value, ... }`},
		"syntax": {
			"{\n  \"model\": \"x\"\n  \"debug\": true }",
			`:3:3: not valid JSON: invalid character '"' after object value (expecting ',' or '}')`,
		},
		"cut off": {
			`{"model": "x`,
			`:1:13: not valid JSON: parsing string: unexpected EOF; a bracket or a quote is not closed`,
		},
		"empty brackets": {`{"model": ,}`, `:1:11: not valid JSON: invalid character ',' at start of value`},
		"utf-16":         {"\xff\xfe{\x00}\x00", `:1:1: the file is UTF-16; save it as UTF-8`},
		"latin-1":        {"{\"language\": \"fran\xe7ais\"}", `:1:19: this is not UTF-8; save the file as UTF-8`},
		"too deep": {
			strings.Repeat(`{"hooks":`, 100),
			`:1:577: nested more than 64 levels deep; a bracket may be missing above`,
		},
		"newer": {
			`{"version": 99}`,
			`:1:13: version: the file was written for a newer lathe; found 99, allowed: at most 1; update lathe`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(userFile, c.text)
			diff(t, "error", m.fail(), userFile+c.want)
		})
	}
}

func TestAMistakeInClaudesFileIsAWarningAndTheRestCounts(t *testing.T) {
	m := newMachine(t)
	m.write(claudeUser,
		`{"cleanupPeriodDays": 0, "language": "x", "spinnerTipsEnabled": true, "bash": {"maxTimeoutMs": "x", "shell": "zsh"}, "theme": "a", "theme": "b"}`)
	c := m.load()
	diff(t, "settings", []string{c.Settings.Language, c.Settings.Bash.Shell, c.Settings.Theme}, []string{"x", "zsh", "b"})
	diff(t, "warnings", m.warnings(c), []string{
		claudeUser + `:1:132: theme: the key appears twice in this object; remove one; the last one counts`,
		claudeUser + `:1:23: cleanupPeriodDays: found 0, allowed: a whole number, at least 1; this key is left out`,
		claudeUser + `:1:96: bash.maxTimeoutMs: found "x", allowed: a whole number, at least 1; this key is left out`,
	})
}

func TestABadAllowEntryIsLeftOutAndTheOthersStay(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"permissions": {"allow": ["Bash(ls *", 7, "WebFetch", "Read({env:UNSET})"], "rules": [
		{"permission": "bash", "pattern": 3, "action": "allow"}, {"permission": "bash", "pattern": "{env:UNSET}", "action": "allow"}, {"permission": "bash", "pattern": "x", "action": "deny"}], "alow": ["Read"]}}`)
	c := m.load()
	diff(t, "allow", c.Settings.Permissions.Allow, []string{"WebFetch"})
	diff(t, "rules", c.Settings.Permissions.Rules,
		[]config.OrderedRule{{Permission: "bash", Pattern: "x", Action: "deny"}})
	diff(t, "warnings", m.warnings(c), []string{
		userFile +
			`:1:56: permissions.allow[3]: {env:UNSET}: the variable is not set; set it, or take it out of the file; this entry is left out`,
		userFile +
			`:2:94: permissions.rules[1].pattern: {env:UNSET}: the variable is not set; set it, or take it out of the file; this entry is left out`,
		userFile +
			`:1:28: permissions.allow[0]: found "Bash(ls *", allowed: a rule: Tool or Tool(pattern) or an object; this entry is left out`,
		userFile +
			`:1:41: permissions.allow[1]: found 7, allowed: a rule: Tool or Tool(pattern) or an object; this entry is left out`,
		userFile +
			`:2:37: permissions.rules[0].pattern: found 3, allowed: a string that is not empty; this entry is left out`,
		userFile +
			`:2:188: permissions.alow: lathe does not know this key; it is kept and has no effect; did you mean allow?`,
	})
}

// A rule that refuses or asks is never skipped: the call that it was to stop would run.
func TestPermissionsThatRestrictAndCannotBeReadAreAnErrorInEveryFile(t *testing.T) {
	const mend = "; correct it or take it out: rules that restrict are never skipped"
	for name, c := range map[string]struct{ text, want string }{
		"open parenthesis": {
			`{"permissions": {"deny": ["WebFetch", "Bash(rm *"]}}`,
			`:1:39: permissions.deny[1]: found "Bash(rm *", allowed: a rule: Tool or Tool(pattern) or an object` + mend,
		},
		"number": {
			`{"permissions": {"ask": [7]}}`,
			`:1:26: permissions.ask[0]: found 7, allowed: a rule: Tool or Tool(pattern) or an object` + mend,
		},
		"empty text": {
			`{"permissions": {"deny": [""]}}`,
			`:1:27: permissions.deny[0]: found "", allowed: a rule: Tool or Tool(pattern) or an object` + mend,
		},
		"empty pattern": {
			`{"permissions": {"deny": ["Read()"]}}`,
			`:1:27: permissions.deny[0]: found "Read()", allowed: a rule: Tool or Tool(pattern) or an object` + mend,
		},
		"no list": {
			`{"permissions": {"deny": "Bash(rm *)"}}`,
			`:1:26: permissions.deny: found "Bash(rm *)", allowed: an array, each a rule: Tool or Tool(pattern) or an object` +
				mend,
		},
		"null": {
			`{"permissions": {"deny": null}}`,
			`:1:26: permissions.deny: found null, allowed: an array, each a rule: Tool or Tool(pattern) or an object` + mend,
		},
		"no object": {`{"permissions": ["Bash(rm *)"]}`, `:1:17: permissions: found an array, allowed: an object` +
			mend},
		"action": {
			`{"permissions": {"rules": [{"permission": "bash", "action": "forbid"}]}}`,
			`:1:61: permissions.rules[0].action: found "forbid", allowed: "allow", "ask", "deny"` + mend,
		},
		"no permission": {
			`{"permissions": {"rules": [{"pattern": "y", "action": "deny"}]}}`,
			`:1:28: permissions.rules[0]: "permission" is missing, allowed: a string that is not empty` + mend,
		},
		"switch": {
			`{"permissions": {"disableBypassPermissionsMode": true}}`,
			`:1:50: permissions.disableBypassPermissionsMode: found true, allowed: "disable"` + mend,
		},
		"variable": {
			`{"permissions": {"deny": ["Read({env:UNSET}/**)"]}}`,
			`:1:27: permissions.deny[0]: {env:UNSET}: the variable is not set; set it, or take it out of the file`,
		},
		"key twice": {
			`{"permissions": {"deny": ["Bash"], "deny": []}}`,
			`:1:36: deny: the key appears twice in this object; remove one`,
		},
		"object twice": {
			`{"permissions": {"deny": ["Bash"]}, "permissions": {}}`,
			`:1:37: permissions: the key appears twice in this object; remove one`,
		},
		"denny": {
			`{"permissions": {"denny": ["Bash"]}}`,
			`:1:18: permissions.denny: lathe does not know this key; did you mean deny?`,
		},
		"deney": {
			`{"permissions": {"deney": ["Bash"]}}`,
			`:1:18: permissions.deney: lathe does not know this key; did you mean deny?`,
		},
		"Deny": {
			`{"permissions": {"Deny": ["Bash"]}}`,
			`:1:18: permissions.Deny: lathe does not know this key; did you mean deny?`,
		},
		"denied": {
			`{"permissions": {"denied": ["Bash"]}}`,
			`:1:18: permissions.denied: lathe does not know this key; did you mean deny?`,
		},
		"Ask": {
			`{"permissions": {"Ask": ["Bash"]}}`,
			`:1:18: permissions.Ask: lathe does not know this key; did you mean ask?`,
		},
		"rule": {
			`{"permissions": {"rule": []}}`,
			`:1:18: permissions.rule: lathe does not know this key; did you mean rules?`,
		},
		"bypass": {
			`{"permissions": {"disableBypassPermissionMode": "disable"}}`,
			`:1:18: permissions.disableBypassPermissionMode: lathe does not know this key; did you mean disableBypassPermissionsMode?`,
		},
		"permisions": {
			`{"permisions": {"deny": ["Bash"]}}`,
			`:1:2: permisions: lathe does not know this key; did you mean permissions?`,
		},
		"Permissions": {
			`{"Permissions": {"deny": ["Bash"]}}`,
			`:1:2: Permissions: lathe does not know this key; did you mean permissions?`,
		},
		"deny at the top": {`{"deny": ["Bash"]}`, `:1:2: deny: lathe does not know this key; did you mean permissions.deny?`},
		"cut off": {
			`{"hooks": {"Stop": [`,
			`:1:21: not valid JSON: parsing value: unexpected EOF; a bracket or a quote is not closed`,
		},
		"cut in the list": {
			`{"permissions": {"deny": ["Bash(rm *)"`,
			`:1:39: not valid JSON: parsing array after value: unexpected EOF; a bracket or a quote is not closed`,
		},
		"no bytes":    {"", `:1:1: the file is empty; restore its text, or write {} if there is nothing to set`},
		"only blanks": {" \n\n", `:1:1: the file is empty; restore its text, or write {} if there is nothing to set`},
		"zero bytes":  {"\x00\x00\x00", `:1:1: not valid JSON: invalid character '\u0000' at start of value`},
	} {
		for _, file := range []string{userFile, claudeUser, projFile, claudeProj, localFile, managed, claudeManaged} {
			t.Run(name+" in "+file, func(t *testing.T) {
				m := newMachine(t)
				m.write(file, c.text)
				diff(t, "error", m.fail(), file+c.want)
			})
		}
	}
}

// A key that lathe's own file may not have could be meant to refuse something; another program's may be new there.
func TestAnUnknownKeyOfPermissionsIsAnErrorInAFileOfOurs(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"permissions": {"blocked": ["Bash"]}}`)
	diff(t, "error", m.fail(), userFile+
		`:1:18: permissions.blocked: lathe does not know this key; take it out, or write its rules under deny, ask or rules`)
	m.write(userFile, `{"permissions": {"$comment": "ours", "alow": []}}`)
	m.write(claudeUser, `{"permissions": {"disableRemoteControl": "disable", "_note": 1}}`)
	diff(t, "warnings", m.warnings(m.load()), []string{
		claudeUser + `:1:18: permissions.disableRemoteControl: lathe does not know this key and does not obey it`,
		userFile + `:1:18: permissions.$comment: lathe does not know this key; it is kept and has no effect`,
		userFile + `:1:38: permissions.alow: lathe does not know this key; it is kept and has no effect; did you mean allow?`,
	})
}

// A misspelled key of the sandbox leaves open what it was to close.
func TestAnUnknownKeyOfTheSandboxIsNamed(t *testing.T) {
	m := newMachine(t)
	m.write(userFile,
		`{"sandbox": {"enabeld": true, "ripgrep": {"command": "rg"}, "network": {"deniedDomain": ["x.com"]}}}`)
	m.write(claudeUser,
		`{"sandbox": {"ripgrep": {"command": "rg"}, "allowAppleEvents": true, "filesystem": {"denyRaed": ["x"]}}}`)
	m.write(managed,
		`{"sandbox": {"network": {"allowManagedDomainsOnly": true}, "filesystem": {"allowManagedReadPathsOnly": true}}}`)
	diff(t, "warnings", m.warnings(m.load()), []string{
		claudeUser +
			`:1:85: sandbox.filesystem.denyRaed: lathe does not know this key; it is kept and has no effect; did you mean denyRead?`,
		userFile +
			`:1:14: sandbox.enabeld: lathe does not know this key; it is kept and has no effect; did you mean enabled?`,
		userFile + `:1:31: sandbox.ripgrep: lathe does not know this key; it is kept and has no effect`,
		userFile +
			`:1:73: sandbox.network.deniedDomain: lathe does not know this key; it is kept and has no effect; did you mean deniedDomains?`,
		managed +
			`: sandbox.filesystem.allowManagedReadPathsOnly, sandbox.network.allowManagedDomainsOnly: without effect, lathe does not have this yet`,
	})
}

func TestABadEntryOrFileOfTheAdministratorIsAnError(t *testing.T) {
	m := newMachine(t)
	m.write(managed, `{"permissions": {"deny": ["Bash(rm *"]}}`)
	if got := m.fail(); !strings.HasPrefix(got, managed+`:1:27: permissions.deny[0]: found "Bash(rm *"`) {
		t.Errorf("entry: %s", got)
	}
	m.write(managed, `{}`)
	m.write("etc/claude-code/managed-settings.json", `{"permissions"`)
	diff(t, "file", m.fail(),
		`etc/claude-code/managed-settings.json:1:15: not valid JSON: parsing object after name: unexpected EOF; a bracket or a quote is not closed`)
}

func TestUnknownKeysAreWarnedAboutOnceWithTheNearestName(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, "{\"modle\": \"x\", \"bash\": {\"shel\": \"zsh\"}, \"somethingElse\": {\"deep\": 1},\n "+
		"\"perm\\u001bissions2\": 1}")
	c := m.load()
	unknown := "lathe does not know this key; it is kept and has no effect"
	diff(t, "warnings", m.warnings(c), []string{
		userFile + ":1:2: modle: " + unknown + "; did you mean model?",
		userFile + ":1:25: bash.shel: " + unknown + "; did you mean shell?",
		userFile + ":1:41: somethingElse: " + unknown,
		userFile + `:2:2: ["perm\x1bissions2"]: ` + unknown + "; did you mean permissions?",
	})
	val, origin, ok := c.Get("somethingElse.deep")
	diff(t, "kept", []any{string(val), m.short(origin.String()), ok}, []any{"1", userFile + ":1:67", true})
}

func TestAnUnreadableFileIsAnError(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	for _, f := range []string{userFile, claudeUser} {
		m := newMachine(t)
		if err := os.Chmod(m.write(f, "{}"), 0); err != nil {
			t.Fatal(err)
		}
		if got, want := m.fail(), f+": cannot read the settings: open "+f+": permission denied"; !strings.HasPrefix(got,
			want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAHugeFileIsRefused(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"language": "`+strings.Repeat("x", 2<<20)+`"}`)
	if got := m.fail(); !strings.HasSuffix(got, "2097152 are read at most") {
		t.Error(got)
	}
}

func TestAnObjectWithManyKeysIsReadInReasonableTime(t *testing.T) {
	m := newMachine(t)
	var b strings.Builder
	b.WriteString(`{"modelAliases": {`)
	for i := range 60000 {
		fmt.Fprintf(&b, "\"k%d\": \"m\",", i)
	}
	text := b.String() + "}}"
	m.write(userFile, text)
	m.write(claudeUser, text)
	diff(t, "aliases", len(m.load().Settings.ModelAliases), 60000)
}

func TestAFileOfRemarksAndAByteOrderMarkAreFine(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, "\xef\xbb\xbf{\"language\": \"x\"}")
	m.write(projFile, " \n// nothing yet\n/* at all */")
	m.write(localFile, "{} // no line break")
	m.write(claudeProj, "// no line break")
	diff(t, "warnings", len(m.load().Warnings), 0)
	diff(t, "origin", m.origin(m.load(), "language"), userFile+":1:14")
	m.write(claudeUser, "/* no end")
	diff(t, "error", m.fail(), claudeUser+":1:1: not valid JSON: parsing comment: unexpected EOF; a bracket or a quote "+
		"is not closed")
}

func TestFlagsAreHeldAgainstTheSchema(t *testing.T) {
	m := newMachine(t)
	m.opts.Flags = []config.Flag{{Name: "--effort", Key: "effort", Value: "lots"}}
	diff(t, "error", m.fail(),
		`flag --effort: effort: found "lots", allowed: "off", "low", "medium", "high", "xhigh", "max"`)
	m.opts.Flags = []config.Flag{{Name: "--max-turns", Key: "maxTurns", Value: "12"}, {
		Name: "--debug", Key: "debug",
		Value: true,
	}}
	c := m.load()
	diff(t, "values", []any{c.Settings.MaxTurns, c.Settings.Debug}, []any{12, true})
}

func TestTheSettingsFlagTakesAFileOrJSON(t *testing.T) {
	m := newMachine(t)
	m.write("home/proj/x.json", `{"language": "file"}`)
	m.opts.SettingsFlag = "x.json"
	diff(t, "file", m.load().Settings.Language, "file")
	m.opts.SettingsFlag = `{"language": "inline", "apiKeyHelper": "h"}`
	diff(t, "inline", m.origin(m.load(), "language"), "--settings:1:14")
	m.opts.SettingsFlag = "nowhere.json"
	diff(t, "missing", m.fail(), "flag --settings: there is no file home/proj/nowhere.json; give a file or a JSON object")
	m.opts.SettingsFlag = `{"language": 1}`
	diff(t, "wrong", m.fail(), "--settings:1:14: language: found 1, allowed: a string")
}

func TestAFolderInPlaceOfASettingsFileIsAnError(t *testing.T) {
	m := newMachine(t)
	m.mkdir(claudeUser)
	if got := m.fail(); !strings.HasPrefix(got, claudeUser+": cannot read the settings") {
		t.Errorf("got %q", got)
	}
	m = newMachine(t)
	m.write(claudeUser, `{"permissions": {"allow": "Bash(ls)", "defaultMode": "later"}}`)
	diff(t, "widening keys that are left out", len(m.load().Warnings), 2)
}
