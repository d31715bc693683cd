package skill_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/extend/skill"
)

// read is the part of a file that a person notices when it was read wrongly.
type read struct {
	Description, Hint, Model, Agent string
	Tools                           []string
	Fork, ByUser, ByModel           bool
	Notes                           int
}

// Files as people write them, made after public ones: what YAML rejects, what other tools add, what is spelled
// otherwise.
func TestFilesAsPeopleWriteThemAreRead(t *testing.T) {
	both := read{ByUser: true, ByModel: true}
	with := func(change func(*read)) read {
		r := both
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		text string
		want read
	}{
		"a colon in the hint": {
			"---\nallowed-tools: Task, Write, Glob\nargument-hint: <model-path> [optional: output-path]\ndescription: Review " +
				"a model\n---\nReview it.",
			with(func(r *read) {
				r.Description, r.Hint, r.Tools, r.Notes = "Review a model", "<model-path> [optional: output-path]",
					[]string{"Task", "Write", "Glob"}, 1
			}),
		},
		"a bar and angle brackets in the hint": {
			"---\nmodel: sonnet\ncontext: fork\ndescription: Create an epic\nargument-hint: REQ-xxx | " +
				"<idea>\nallowed-tools:\n  - Task\n  - Bash(specs *)\n  - AskUserQuestion\n---\n\n# Plan\n",
			with(func(r *read) {
				r.Description, r.Hint, r.Model, r.Fork, r.Agent = "Create an epic", "REQ-xxx | <idea>", "sonnet", true,
					"general-purpose"
				r.Tools = []string{"Task", "Bash(specs *)", "AskUserQuestion"}
			}),
		},
		"a list on the line below its key": {
			"---\ndescription: \"Set up\"\nargument-hint: \"[init|update]\"\nallowed-tools:\n  [\"Read\", \"Bash\",\n   " +
				"\"mcp__ctx__save\"]\n---\n",
			with(func(r *read) {
				r.Description, r.Hint, r.Tools = "Set up", "[init|update]", []string{"Read", "Bash", "mcp__ctx__save"}
			}),
		},
		"rules with blanks in one string": {
			"---\nname: lint\ndescription: >-\n  Checks a skill。\n  「検証」で使用。\nargument-hint: " +
				"\"[path...]\"\nallowed-tools: Bash(bun run *lint/scripts/*), Bash(ddev exec npm:*), Read\n---\n",
			with(func(r *read) {
				r.Description, r.Hint = "Checks a skill。 「検証」で使用。", "[path...]"
				r.Tools = []string{"Bash(bun run *lint/scripts/*)", "Bash(ddev exec npm:*)", "Read"}
			}),
		},
		"a dialogue in the description": {
			"---\nname: m\ndescription: Use for mail. <example>user: 'sync it' assistant: 'I will use: mail' " +
				"<commentary>needs: care</commentary></example>\ncolor: cyan\ncontext: fork\nagent: docs-agent\nsdk_features: " +
				"[a, b]\n---\nx",
			with(func(r *read) {
				r.Description = "Use for mail. <example>user: 'sync it' assistant: 'I will use: mail' <commentary>needs: " +
					"care</commentary></example>"
				r.Fork, r.Agent, r.Notes = true, "docs-agent", 1
			}),
		},
		"the other spelling of user-invocable": {
			"---\ndescription: d\nuser-invokable: false\ncompatibility:\n  - \"openai\"\n  - \"claude\"\n---\nx",
			with(func(r *read) { r.Description, r.ByUser = "d", false }),
		},
		"fields of other programs": {
			"---\nname: UAT\ndescription: Verifies.\ntarget: vscode\ntools: ['vscode', 'execute/*']\nmetadata:\n  " +
				"url_patterns: [\"*\"]\n  budget: {vision: 0.1}\nversion: 0.1.0\n---\nx",
			with(func(r *read) { r.Description = "Verifies." }),
		},
		"a byte order mark and Windows line ends": {
			"\ufeff---\r\ndescription: From Windows\r\ndisable-model-invocation: TRUE\r\n---\r\nx\r\n",
			with(func(r *read) { r.Description, r.ByModel = "From Windows", false }),
		},
		"a tab for indentation": {
			"---\ndescription: Tabbed\nallowed-tools:\n\t- Read\n\t- Grep\n---\nx",
			with(func(r *read) { r.Description, r.Tools, r.Notes = "Tabbed", []string{"Read", "Grep"}, 1 }),
		},
		"a block that never ends": {
			"---\ndescription: open\n\nThe text.",
			with(func(r *read) { r.Description = "--- description: open" }),
		},
		"a rule between paragraphs": {
			"First.\n\n---\ndescription: no\n---\n",
			with(func(r *read) { r.Description = "First." }),
		},
		"a heading and a quote only": {"# Title\n> quoted\n", with(func(r *read) { r.Description = "> quoted" })},
		"a value with a hash": {
			"---\ndescription: Fixes issue #12 # really\n---\nx",
			with(func(r *read) { r.Description = "Fixes issue" }),
		},
		"a template's braces": {
			"---\ndescription: {{ purpose }}\nmodel: inherit\n---\nx",
			with(func(r *read) { r.Description, r.Model, r.Notes = "{{ purpose }}", "inherit", 1 }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := skill.Load(write(t, t.TempDir(), "x/SKILL.md", c.text))
			if err != nil {
				t.Fatal(err)
			}
			got := read{
				Description: s.Description, Hint: s.ArgumentHint, Model: s.Model, Agent: s.Agent, Tools: s.AllowedTools,
				Fork:   s.Fork,
				ByUser: !s.HiddenFromUser, ByModel: !s.HiddenFromModel, Notes: len(s.Notes),
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s\n%s", d, strings.Join(s.Notes, "\n"))
			}
		})
	}
}
