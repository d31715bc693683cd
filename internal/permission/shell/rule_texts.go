package shell

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// texts are the text of a call as rules see it, and more for deny and ask rules.
func (a *analysis) texts(c *call) (text string, deep []string) {
	var shown, plain, known []string
	for _, w := range c.words {
		show := w.show
		if show == "" && w.text == "" && !w.unknown {
			show = "''"
		}
		shown = append(shown, show)
		plain = append(plain, w.text)
		if w.text != "" || !w.unknown {
			known = append(known, w.text)
		}
	}
	text = strings.Join(shown, " ")
	if c.name != "export" && c.name != "declare" {
		var kept []string
		for _, as := range c.assigns {
			if !safeVariable(as.name) || !as.known || strings.ContainsAny(as.show, "$`") {
				kept = append(kept, as.show)
			}
		}
		if len(kept) > 0 {
			deep = add(deep, text, text)
			text = strings.Join(kept, " ") + " " + text
		}
	}
	deep = add(deep, text, c.raw)
	deep = add(deep, text, strings.Join(plain, " "))
	deep = add(deep, text, strings.Join(known, " "))
	if c.name != "" && c.name != plain[0] {
		deep = add(deep, text, strings.Join(append([]string{c.name}, plain[1:]...), " "))
	}
	if name := program.Plain(c.name); name != c.name {
		deep = add(deep, text, strings.Join(append([]string{name}, plain[1:]...), " "))
	}
	for _, t := range withoutOptions(c, plain) {
		deep = add(deep, text, t)
	}
	if lower := strings.TrimSuffix(strings.ToLower(c.name), ".exe"); lower != c.name {
		deep = add(deep, text, strings.Join(append([]string{lower}, plain[1:]...), " "))
	}
	return text, deep
}

// withoutOptions are the texts of a command without the options before its subcommand: git -C x push is
// git push. Where it is not known whether an option takes the next word, both readings count.
func withoutOptions(c *call, plain []string) []string {
	if c.name == "git" {
		sub, rest := gitSubcommand(c)
		return append(pushes(sub, rest), strings.Join(append([]string{"git", sub}, rest...), " "))
	}
	if sub, ok := strings.CutPrefix(c.name, "git-"); ok {
		return append(pushes(sub, plain[1:]), strings.Join(append([]string{"git", sub}, plain[1:]...), " "))
	}
	if !among(c.name, "docker", "podman", "kubectl", "npm", "pnpm", "yarn", "gh", "cargo", "terraform", "systemctl", "helm", "aws", "gcloud", "go", "pip", "apt", "apt-get", "brew", "hg", "svn") {
		return nil
	}
	var out []string
	for i := 1; i < len(plain) && strings.HasPrefix(plain[i], "-"); i++ {
		for skip := 1; skip <= 2 && i+skip < len(plain); skip++ {
			if !strings.HasPrefix(plain[i+skip], "-") {
				out = append(out, strings.Join(append([]string{c.name}, plain[i+skip:]...), " "))
			}
		}
	}
	return out
}

// pushes writes the git commands that also push as git push.
func pushes(sub string, rest []string) []string {
	switch sub {
	case "send-pack", "http-push", "remote-http", "remote-https", "remote-ext", "remote-fd", "send-email", "request-pull":
		return []string{strings.Join(append([]string{"git push"}, rest...), " ")}
	case "lfs", "subtree", "svn", "p4", "annex", "stash", "hub", "town", "spice", "machete", "branchless", "cinnabar", "remote":
		for i, w := range rest {
			if among(w, "push", "dcommit", "submit", "sync", "copy") {
				return []string{strings.Join(append([]string{"git push"}, rest[i+1:]...), " ")}
			}
		}
	}
	return nil
}

// add appends a text that is new.
func add(texts []string, main, text string) []string {
	text = strings.TrimSpace(text)
	if text == "" || text == main {
		return texts
	}
	for _, t := range texts {
		if t == text {
			return texts
		}
	}
	return append(texts, text)
}
