package shell

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

// wrapped are other ways to run a line: each means the same, or more.
func wrapped(line string) map[string]string {
	b64 := base64.StdEncoding.EncodeToString([]byte(line))
	octal, hex := "", ""
	for _, b := range []byte(line) {
		octal += fmt.Sprintf(`\%03o`, b)
		hex += fmt.Sprintf(`\x%02x`, b)
	}
	tick := strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(line)
	double := strings.NewReplacer(`\`, `\\`, "`", "\\`", `"`, `\"`, "$", `\$`).Replace(line)
	return map[string]string{
		"after a command":       "true; " + line,
		"after &&":              "true && " + line,
		"after ||":              "false || " + line,
		"after a newline":       "ls\n" + line,
		"behind a pipe":         "ls | { " + line + "\n}",
		"before a command":      line + "\nls",
		"subshell":              "( " + line + "\n)",
		"group":                 "{ " + line + "\n}",
		"if":                    "if true; then " + line + "\nfi",
		"else":                  "if false; then :; else " + line + "\nfi",
		"for":                   "for i in 1 2; do " + line + "\ndone",
		"while":                 "while true; do " + line + "\ndone",
		"case":                  "case x in *) " + line + "\n;; esac",
		"function":              "f() { " + line + "\n}; f",
		"substitution":          "echo $( " + line + "\n)",
		"quoted substitution":   "echo \"$( " + line + "\n)\"",
		"backquotes":            "echo `" + tick + "\n`",
		"process substitution":  "cat <( " + line + "\n)",
		"default value":         "echo ${nothing:-$( " + line + "\n)}",
		"here-document":         "cat <<LONGEND\n$( " + line + "\n)\nLONGEND",
		"script by document":    "bash <<'LONGEND'\n" + line + "\nLONGEND",
		"script by string":      "bash <<< " + quote(line),
		"bash -c":               "bash -c " + quote(line),
		"bash -c, double":       "bash -c \"" + double + "\"",
		"sh -c":                 "/bin/sh -c " + quote(line),
		"nested bash":           "bash -c " + quote("sh -c "+quote(line)),
		"sudo sh":               "sudo sh -c " + quote(line),
		"env bash":              "env A=1 bash -c " + quote(line),
		"timeout bash":          "timeout 9 bash -c " + quote(line),
		"eval":                  "eval " + quote(line),
		"eval of a variable":    "X=" + quote(line) + "; eval \"$X\"",
		"bash of a variable":    "X=" + quote(line) + "; bash -c \"$X\"",
		"trap":                  "trap " + quote(line) + " EXIT",
		"printed into sh":       "printf %s " + quote(line) + " | sh",
		"base64 into sh":        "echo " + b64 + " | base64 -d | sh",
		"base64 eval":           "eval \"$(echo " + b64 + " | base64 -d)\"",
		"octal eval":            "eval $'" + octal + "'",
		"hex eval":              "eval \"$(printf '" + hex + "')\"",
		"source of output":      "source <(echo " + b64 + " | base64 -d)",
		"negated":               "! { " + line + "\n}",
		"timed":                 "time { " + line + "\n}",
		"background":            "{ " + line + "\n} &",
		"coproc":                "coproc { " + line + "\n}",
		"find -exec":            "find . -exec sh -c " + quote(line) + " \\;",
		"xargs":                 "echo 1 | xargs sh -c " + quote(line),
		"alias":                 "alias x=" + quote(line) + "; x",
		"comment first":         "# read-only\n" + line,
		"continued":             "ls \\\n; " + line,
		"after sixty commands":  strings.Repeat("true; ", 60) + line,
		"after a document":      "cat <<'LONGEND'\nhello\nLONGEND\n" + line,
		"prompt":                "PS4='$( " + strings.ReplaceAll(line, "'", `'\''`) + "\n)'; set -x; ls",
		"subscript":             "test -v 'a[$( " + strings.ReplaceAll(line, "'", `'\''`) + "\n)]'",
		"transformed":           "zz='$( " + strings.ReplaceAll(line, "'", `'\''`) + "\n)'; echo \"${zz@P}\"",
		"arithmetic":            "echo $(( $( " + line + "\n) + 1 ))",
		"function by arguments": "run() { eval \"$1\"; }; run " + quote(line),
		"ssh":                   "ssh host " + quote(line),
	}
}

var plainFirst = regexp.MustCompile(`^[a-z][a-z0-9.]+( |$)`)

// respelled are other spellings of the first word of a line.
func respelled(line string) map[string]string {
	if !plainFirst.MatchString(line) {
		return nil
	}
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "if", "for", "while", "until", "case", "coproc", "time", "function", "select", "export", "declare", "readonly",
		"typeset", "local", "let", "set":
		return nil // words that are no commands, or are commands only when they are plain
	}
	out := map[string]string{}
	put := func(how, spelled string) { out[how+" "+spelled] = strings.TrimSpace(spelled + " " + rest) }
	hex, octal, each := "", "", ""
	for i := 0; i < len(name); i++ {
		hex += fmt.Sprintf(`\x%02x`, name[i])
		octal += fmt.Sprintf(`\%03o`, name[i])
		each += `\` + name[i:i+1]
		put("empty quotes", name[:i]+"''"+name[i:])
		put("empty double quotes", name[:i]+`""`+name[i:])
		put("backslash", name[:i]+`\`+name[i:])
		put("quoted letter", name[:i]+"'"+name[i:i+1]+"'"+name[i+1:])
		put("double-quoted letter", name[:i]+`"`+name[i:i+1]+`"`+name[i+1:])
		put("ansi letter", name[:i]+"$'"+name[i:i+1]+"'"+name[i+1:])
		put("empty expansion", name[:i]+"$@"+name[i:])
		put("empty variable", name[:i]+"${nothing}"+name[i:])
		put("empty substitution", name[:i]+"$(true)"+name[i:])
		put("empty backquotes", name[:i]+"``"+name[i:])
	}
	put("quotes", "'"+name+"'")
	put("double quotes", `"`+name+`"`)
	put("locale quotes", `$"`+name+`"`)
	put("hex", "$'"+hex+"'")
	put("octal", "$'"+octal+"'")
	put("backslashes", each)
	put("braces", "{"+name+",}")
	put("echo", "$(echo "+name+")")
	put("printf", "$(printf "+name+")")
	put("printf hex", "$(printf '"+hex+"')")
	put("backquoted echo", "`echo "+name+"`")
	put("rev", "$(echo "+reverse(name)+" | rev)")
	put("base64", "$(echo "+base64.StdEncoding.EncodeToString([]byte(name))+" | base64 -d)")
	put("variable", "A="+name+"; $A")
	put("two variables", "A="+name[:1]+" B="+name[1:]+"; $A$B")
	put("default", "${nothing:-"+name+"}")
	put("assigned default", "${nothing:="+name+"}")
	put("upper", "A="+strings.ToUpper(name)+"; ${A,,}")
	put("cut", "A=x"+name+"x; ${A:1:"+fmt.Sprint(len(name))+"}")
	put("replaced", "A=_"+name+"; ${A/_/}")
	put("unset first", "$nothing "+name)
	put("path", "/usr/bin/"+name)
	put("command", "command "+name)
	put("builtin", "builtin command "+name)
	put("exec", "exec "+name)
	put("env", "env "+name)
	put("env with a variable", "env -i A=1 "+name)
	put("assignment", "A=1 "+name)
	put("sudo", "sudo -n "+name)
	put("timeout", "timeout -s KILL 9 "+name)
	put("nice", "nice -n 5 "+name)
	put("nohup", "nohup "+name)
	put("stdbuf", "stdbuf -oL "+name)
	put("setsid", "setsid -w "+name)
	put("wrappers", "sudo env A=1 nice timeout 9 "+name)
	put("eval words", "eval "+name)
	put("redirected", ">/dev/null "+name)
	put("time", "time "+name)
	put("not", "! "+name)
	return out
}

// spoiled are lines that look like the line and are not: they run something else than they show.
func spoiled(line string) map[string]string {
	out := map[string]string{}
	for _, r := range "\u00a0\u2002\u2003\u2009\u200b\u200d\u202e\u2060\u2800\u3000\ufeff\u0085\u2028\u00ad\U000e0020\r\v\f\x00\x1b\x7f" {
		out[fmt.Sprintf("U+%04X first", r)] = string(r) + line
		out[fmt.Sprintf("U+%04X last", r)] = line + string(r)
		out[fmt.Sprintf("U+%04X for blanks", r)] = strings.ReplaceAll(line, " ", string(r))
		out[fmt.Sprintf("U+%04X after blanks", r)] = strings.ReplaceAll(line, " ", " "+string(r))
	}
	name, rest, _ := strings.Cut(line, " ")
	for plain, like := range map[string]string{
		"a": "а", "e": "е", "o": "о", "c": "с", "p": "р", "l": "ӏ", "s": "ѕ",
		"m": "ｍ",
	} {
		out["homoglyph "+plain] = strings.Replace(name, plain, like, 1) + " " + rest
	}
	return out
}

func TestNoMutationOfABadLineIsApproved(t *testing.T) {
	for _, file := range []string{"ask.txt", "deny.txt"} {
		for i, line := range permissiontest.Lines(t, file) {
			for how, text := range wrapped(line) {
				if r := read(text); approved(r) && line != "ls )" { // the wrapping gives it its other half
					t.Errorf("%q runs unasked %s: %s", text, how, show(r))
				}
			}
			for how, text := range respelled(line) {
				if i%2 != 0 {
					break // half of the lines are enough to find a spelling that breaks
				}
				if r := read(text); approved(r) {
					t.Errorf("%q runs unasked by %s: %s", text, how, show(r))
				}
			}
			for how, text := range spoiled(line) {
				if i%4 != 0 {
					break
				}
				if r := read(text); text != line && approved(r) && line != "" {
					t.Errorf("%q runs unasked with %s: %s", text, how, show(r))
				}
			}
		}
	}
}

// different reports whether a mutation says something else than the line that it was made of.
func different(line, how string) bool {
	switch {
	case strings.HasPrefix(how, "redirected"):
		return strings.Contains(line, "|") // nothing comes out of the pipe
	case strings.HasPrefix(how, "eval words"):
		return strings.ContainsAny(line, "'\"\\$<`") // eval takes the quotes off once more
	case strings.HasPrefix(how, "function by"):
		return strings.Contains(line, "$@") // a function has its own
	case strings.HasPrefix(line, "cd ") || strings.HasPrefix(line, "pushd "):
		// Only the shell itself can change its folder.
		for _, outside := range []string{
			"sudo", "env", "timeout", "nice", "nohup", "stdbuf", "setsid", "wrappers", "exec",
			"path",
		} {
			if strings.HasPrefix(how, outside) {
				return true
			}
		}
	}
	return false
}

func TestMutationsOfADisasterAreRefused(t *testing.T) {
	for _, line := range permissiontest.Lines(t, "deny.txt") {
		for how, text := range wrapped(line) {
			if r := read(text); !denied(r) && !different(line, how) {
				t.Errorf("%q is not refused %s: %s", text, how, show(r))
			}
		}
		for how, text := range respelled(line) {
			if r := read(text); !denied(r) && !different(line, how) {
				t.Errorf("%q is not refused by %s: %s", text, how, show(r))
			}
		}
	}
}

func TestMoreMembersNeverWeaken(t *testing.T) {
	all := append(append(permissiontest.Lines(t, "ask.txt"), permissiontest.Lines(t, "deny.txt")...),
		permissiontest.Lines(t, "ordinary.txt")...)
	for _, line := range all {
		if _, err := parse(line); err != nil {
			continue
		}
		for _, more := range []string{"; ls", " && ls", " || ls", " | cat", " & ls", "\nls"} {
			before, after := read(line), read(line+more)
			if approved(after) || denied(before) && !denied(after) {
				t.Errorf("%q weakens %q: %s", more, line, show(after))
			}
		}
	}
}
