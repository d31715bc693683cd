package shell

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// fed completes the command that xargs runs with the words that it reads, where they are known.
func (a *analysis) fed(c *call, words []program.Word) []program.Word {
	in := c.in
	if c.name != "xargs" && c.name != "parallel" || !in.any || len(words) == 0 {
		return words
	}
	if len(in.upto) > 0 && !in.known {
		in.text, in.known = a.printed(in.upto, in.scope)
	}
	if in.text == "" {
		return words
	}
	var out []program.Word
	placed := false
	if last := words[len(words)-1]; last.Unknown && last.Text == "" {
		words = words[:len(words)-1]
	}
	for _, w := range words {
		if strings.Contains(w.Text, "{}") {
			w.Text, placed = strings.ReplaceAll(w.Text, "{}", strings.TrimSpace(in.text)), true
		}
		out = append(out, w)
	}
	for _, f := range strings.Fields(in.text) {
		if placed || len(out) > maxBraces {
			break
		}
		out = append(out, program.Word{Text: f})
	}
	return append(out, program.Word{Unknown: true})
}

// wrote remembers the text that a command writes into a file, so that it is known when the line runs it later.
func (a *analysis) wrote(c *call, sc *scope) {
	if a.mute > 0 || len(a.redirs) == 0 {
		return
	}
	target := a.redirs[len(a.redirs)-1].target.text
	a.mute++
	text, _ := a.callOutput(c.words, c.in, sc)
	a.mute--
	if text == "" || target == "" || len(sc.dirs) == 0 {
		return
	}
	a.written[from(target, sc.dirs[0])] += text
}

// rerun analyses text that the line wrote into a file and runs from there: echo x > a.sh; sh a.sh.
func (a *analysis) rerun(c *call, sc *scope) {
	if len(a.written) == 0 || len(sc.dirs) == 0 {
		return
	}
	for i, w := range c.words {
		if i > 0 && !inList("shells", c.name) && c.name != "source" && c.name != "." {
			return
		}
		path := from(w.text, sc.dirs[0])
		if text := a.written[path]; text != "" {
			delete(a.written, path) // once is enough
			a.nestedScript(text, sc, "the file "+w.text, nil)
			a.written[path] = text
		}
	}
}

// interprets reports whether a program runs code of another language from its words.
func interprets(name string) bool {
	switch name {
	case "node", "nodejs", "deno", "bun", "awk", "gawk", "mawk", "osascript", "tclsh", "Rscript", "expect", "vim", "vi",
		"nvim", "emacs", "gdb":
		return true
	}
	return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "perl") || strings.HasPrefix(name, "ruby") ||
		strings.HasPrefix(name, "php") || strings.HasPrefix(name, "lua")
}

// embedded searches code in words for commands that it hands to a shell.
func (a *analysis) embedded(c *call, sc *scope) {
	if !interprets(c.name) {
		return
	}
	for _, w := range c.words[1:] {
		for _, sign := range []string{
			"system", "popen", "exec", "spawn", "subprocess", "shell", "qx", "%x", "`", "unlink",
			"rmtree", "!", "| getline", "|getline",
		} {
			if strings.Contains(w.text, sign) {
				a.code(w.text, sc, c.name)
				break
			}
		}
	}
}
