package call_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

// proposed are the rules that "always" would keep for a line.
func proposed(t *testing.T, line string) (texts []string, parts []permission.Part) {
	t.Helper()
	m := machine()
	req, err := m.Request("Bash", object("command", line), call.Fixture{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Policy(nil).Propose(req), req.Accesses[0].Command.Parts
}

func TestWhatAlwaysProposes(t *testing.T) {
	for line, want := range map[string][]string{
		"git commit -m x":                  {"Bash(git commit *)"},
		"npm run build":                    {"Bash(npm run build *)"},
		"go test ./...":                    {"Bash(go test *)"},
		"mkdir -p a/b":                     {"Bash(mkdir *)"},
		"git add . && git commit -m x":     {"Bash(git add *)", "Bash(git commit *)"},
		"ls /":                             {"Bash(ls /)"},
		"ls ~":                             {"Bash(ls ~)"},
		"ls -la /etc":                      {"Bash(ls -la /etc)"},
		"cat /etc/hosts":                   {"Bash(cat /etc/hosts)"},
		"cp a /opt/x":                      {"Bash(cp a /opt/x)"},
		"npm explore x -- ls":              {"Bash(npm explore x -- ls)"},
		"npm set a b":                      {"Bash(npm set a b)"},
		"npm init y":                       {"Bash(npm init y)"},
		"npm rum build":                    {"Bash(npm rum build)"},
		"npm i":                            {"Bash(npm i)"},
		"npm i left-pad":                   {"Bash(npm i left-pad)"},
		"yarn node x":                      {"Bash(yarn node x)"},
		"uv pip install x":                 {"Bash(uv pip install x)"},
		"groovy x.groovy":                  {"Bash(groovy x.groovy)"},
		"scala x.scala":                    {"Bash(scala x.scala)"},
		"R -f x.R":                         {"Bash(R -f x.R)"},
		"octave x.m":                       {"Bash(octave x.m)"},
		"guile x.scm":                      {"Bash(guile x.scm)"},
		"m4 x.m4":                          {"Bash(m4 x.m4)"},
		"jshell x":                         {"Bash(jshell x)"},
		"tsx x.ts":                         {"Bash(tsx x.ts)"},
		"cmake -B build":                   {"Bash(cmake -B build)"},
		"rpm --eval x":                     {"Bash(rpm --eval x)"},
		"pulumi up":                        {"Bash(pulumi up)"},
		"rails db:drop":                    {"Bash(rails db:drop)"},
		"vercel deploy":                    {"Bash(vercel deploy)"},
		"make build":                       {"Bash(make build)"},
		"./run.sh":                         {"Bash(./run.sh)"},
		"unknown-program with words":       {"Bash(unknown-program with words)"},
		"bin/git commit -m x":              {"Bash(bin/git commit -m x)"},
		"git -c core.editor=x commit -m x": {"Bash(git -c core.editor=x commit -m x)", "Bash(x)"},
		"rm *.log":                         nil,
		"rm -rf ~":                         nil,
	} {
		if got, _ := proposed(t, line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// everyday are lines to propose rules for and to try them on: those of the tests, and every program with flags that
// make it do more.
func everyday(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, name := range []string{"harmless.txt", "ask.txt", "ordinary.txt"} {
		out = append(out, permissiontest.Lines(t, "../../shell/testdata/"+name)...)
	}
	return append(append(out, permissiontest.Lines(t, "evasions_rm.txt")...),
		permissiontest.Lines(t, "evasions_read.txt")...)
}

// further are words that a rule might let through after the words of the line.
var further = []string{
	"--force", "-f", "--hard", "--delete", "-D", "-d", "--amend", "--exec x", "-exec x", "--config x=y", "-c x=y",
	"--upload-pack=x", "--eval x", "-e x", "-o x", "--output=x", "--prefix x", "-C x",
	"--toolexec x", "-toolexec=x", "-exec=x", "-vettool=x", "--script-shell=x", "--node-options=x", "--template=x",
	"-u x", "--no-verify", "--plugin x", "--require x", "-r x", "--rcfile x", "SHELL=x",
	"$(x)", "`x`", "$X", "> x", "; x", "| x", "& x", "../x", "/etc/x", "~/.bashrc", ".git/hooks/pre-commit", "-", "--",
	"@x", "ext::x", "--all", "clean", "destroy", "reset", "apply", "run x", "push",
}

// What a proposed rule lets through beyond the shown line is the same program and subcommand, and nothing of a
// stronger class.
func TestProposedRulesLetThroughOnlyMoreOfTheSame(t *testing.T) {
	lines := everyday(t)
	type part struct {
		permission.Part
		line string
	}
	var all []part
	rules := map[string]permission.Part{}
	for _, line := range lines {
		texts, parts := proposed(t, line)
		for _, p := range parts {
			all = append(all, part{p, line})
		}
		for _, text := range texts {
			for _, p := range parts {
				if prefix, ok := strings.CutSuffix(strings.TrimPrefix(text, "Bash("), " *)"); ok && strings.HasPrefix(p.Text+" ",
					prefix+" ") {
					rules[text] = p
				}
			}
		}
	}
	if len(rules) < 5 {
		t.Fatalf("only %d general rules were proposed", len(rules))
	}
	for text, shown := range rules {
		prefix := strings.TrimSuffix(strings.TrimPrefix(text, "Bash("), " *)")
		tried := all
		for _, more := range further {
			line := prefix + " " + more
			_, parts := proposed(t, line)
			for _, p := range parts {
				tried = append(tried, part{p, line})
			}
		}
		r, err := permission.ParseRule(tools, text, permission.Allow, permission.Source{Base: "/home/u/proj"})
		if err != nil {
			t.Fatal(err)
		}
		m := machine()
		for _, p := range tried {
			if !strings.HasPrefix(p.Text+" ", prefix+" ") && !strings.Contains(p.Text, shown.Program) {
				continue
			}
			req, err := m.Request("Bash", object("command", p.Raw), call.Fixture{})
			if err != nil || !m.Policy(nil).Matches(r, req) {
				continue
			}
			class := req.Accesses[0].Command.Class
			if strength(class) > max(strength(shown.Class), strength(permission.ClassWrite)) {
				t.Errorf("%s, proposed for %q, lets %q through, which is %s", text, shown.Text, p.Raw, class)
			}
			for _, got := range req.Accesses[0].Command.Parts {
				if got.Class != permission.ClassNeutral && !got.Class.ReadOnly() && got.Program != shown.Program && !got.Covered {
					t.Errorf("%s, proposed for %q, lets %q through, which runs %s", text, shown.Text, p.Raw, got.Program)
				}
			}
		}
	}
}

func strength(c permission.Class) int { return slices.Index(permission.Classes, c) }

// deeds are words behind a form that make a command do more than the form says, if the program understands them.
var deeds = []string{
	"drop", "clear", "pop", "remove x", "rm x", "delete x", "purge", "prune", "uninstall x", "publish", "push", "deploy",
	"expire --all", "reset --hard", "restore x", ".", "x", "x y", "-- x",
	"rm -rf y", "-- rm -rf y", "x rm -rf y", "-c rm", "sh -c x", "-i x rm y", "install x", "init x", "exec rm y",
	"run x rm y", "apply x", "--force", "-f x", "--hard", "-D x", "-rf x", "+x", ":x", "origin :x", "origin --delete x",
	"--mirror",
}

// beyond says why a rule with any words behind a form lets through more than the form says: a command that destroys or
// publishes, or one that runs another program.
func beyond(t *testing.T, form string) (why []string) {
	t.Helper()
	text := "Bash(" + form + " *)"
	r, err := permission.ParseRule(tools, text, permission.Allow, permission.Source{Base: "/home/u/proj"})
	if err != nil {
		t.Fatal(err)
	}
	program, _, _ := strings.Cut(form, " ")
	m := machine()
	for _, more := range deeds {
		req, err := m.Request("Bash", object("command", form+" "+more), call.Fixture{})
		if err != nil {
			continue
		}
		command := req.Accesses[0].Command
		if m.Policy(nil).Matches(r, req) && strength(command.Class) > strength(permission.ClassWrite) {
			why = append(why, text+" lets "+form+" "+more+" through, which is "+string(command.Class))
		}
		for _, part := range command.Parts {
			if part.Program != program && part.Program != "" {
				why = append(why, form+" "+more+" runs "+part.Program)
			}
		}
	}
	return why
}

func TestAGeneralFormDoesNothingWorseWithAnyWords(t *testing.T) {
	for _, form := range permission.GeneralForms() {
		for _, why := range beyond(t, form) {
			t.Error(why)
		}
	}
	for _, form := range []string{
		"git stash", "git push", "git clean", "git checkout", "git reset", "git restore",
		"git branch", "git worktree", "npm exec", "npx", "pnpm exec", "yarn dlx", "env", "sudo", "timeout", "xargs", "nice",
		"rm", "terraform destroy",
	} {
		if len(beyond(t, form)) == 0 {
			t.Errorf("%s could stand among the general forms unnoticed", form)
		}
	}
}

// interpreters are lines of programs that run code: a rule for one must not let other code through.
var interpreters = []string{
	"python3 x.py", "python3 -m pytest", "node x.js", "groovy x.groovy", "scala x.scala", "R -f x.R", "Rscript x.R",
	"octave x.m", "guile x.scm", "m4 x.m4", "jshell x", "tsx x.ts", "ts-node x.ts",
	"cmake -P x.cmake", "rpm --eval x", "perl x.pl", "ruby x.rb", "php x.php", "lua x.lua", "julia x.jl", "deno run x.ts",
	"bun x.ts", "swipl x.pl", "sbcl --script x", "tclsh x.tcl", "expect x.exp",
	"elixir x.exs", "kotlin x.kts", "ocaml x.ml", "racket x.rkt", "raku x", "osascript x", "gdb -x f a", "make -f x.mk",
	"bash x.sh", "sh x.sh", "awk -f x f", "sqlite3 x .tables",
}

// otherCode are lines of the same program that run other code than the line shown: another file, code in words, code
// from the input, more options before the same file.
func otherCode(line string) []string {
	program, rest, _ := strings.Cut(line, " ")
	out := []string{program + " other", program + " -e other", program + " -c other", program + " --eval other", program +
		" - ", line + " -e other", line + " --eval other", line + " --require other", program + " -r other " + rest}
	first, _, _ := strings.Cut(rest, " ")
	return append(out, program+" "+first+" other", program+" "+first+" other more")
}

// opensOtherCode lists the lines with other code that rules proposed for a line would let through.
func opensOtherCode(t *testing.T, line string, rules []string) (out []string) {
	t.Helper()
	m := machine()
	for _, text := range rules {
		r, err := permission.ParseRule(tools, text, permission.Allow, permission.Source{Base: "/home/u/proj"})
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range otherCode(line) {
			req, err := m.Request("Bash", object("command", other), call.Fixture{})
			if err != nil || other == line {
				continue
			}
			if m.Policy(nil).Matches(r, req) {
				out = append(out, text+" lets "+other+" through")
			}
		}
	}
	return out
}

func TestARuleProposedForAnInterpreterLetsNoOtherCodeThrough(t *testing.T) {
	for _, line := range interpreters {
		rules, _ := proposed(t, line)
		for _, why := range opensOtherCode(t, line, rules) {
			t.Errorf("%q: %s", line, why)
		}
		program, _, _ := strings.Cut(line, " ")
		if wrong := "Bash(" + program + " *)"; len(opensOtherCode(t, line, []string{wrong})) == 0 {
			t.Errorf("%q: %s would be proposed unnoticed", line, wrong)
		}
	}
}
