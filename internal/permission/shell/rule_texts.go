package shell

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// texts are the text of a call as rules see it, and more for deny and ask rules.
func (a *analysis) texts(c *call) (text string, deep []string) {
	text, plain, known := spelled(c)
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
	deep = add(deep, text, plain)
	deep = add(deep, text, known)
	if c.name != "" && c.name != c.words[0].text {
		deep = add(deep, text, c.renamed(c.name))
	}
	if name := program.Plain(c.name); name != c.name {
		deep = add(deep, text, c.renamed(name))
	}
	for _, t := range withoutOptions(c) {
		deep = add(deep, text, t)
	}
	if lower := strings.TrimSuffix(strings.ToLower(c.name), ".exe"); lower != c.name {
		deep = add(deep, text, c.renamed(lower))
	}
	return text, deep
}

// spelled are the words of a call in one text: as rules see them, as the program gets them, and without those of which
// nothing is known.
func spelled(c *call) (shown, plain, known string) {
	if text, ok := c.literalText(); ok {
		return text, text, text
	}
	var shows, all, some []string
	for _, w := range c.words {
		show := w.show
		if show == "" && w.text == "" && !w.unknown {
			show = "''"
		}
		shows = append(shows, show)
		all = append(all, w.text)
		if w.text != "" || !w.unknown {
			some = append(some, w.text)
		}
	}
	return strings.Join(shows, " "), strings.Join(all, " "), strings.Join(some, " ")
}

// literalText is the text of words that rules see as the program gets them: the line itself, where it has one blank
// between them.
func (c *call) literalText() (text string, ok bool) {
	rest, same := c.raw, true
	for i, w := range c.words {
		if w.show != w.text || w.text == "" {
			return "", false
		}
		if i > 0 && same {
			rest, same = strings.CutPrefix(rest, " ")
		}
		if same {
			rest, same = strings.CutPrefix(rest, w.text)
		}
	}
	if same && rest == "" {
		return c.raw, true
	}
	return strings.Join(texts(c.words), " "), true
}

// renamed is the text of a call with another name for its program.
func (c *call) renamed(name string) string {
	words := texts(c.words)
	words[0] = name
	return strings.Join(words, " ")
}

// withoutOptions are the texts of a command without the options before its subcommand: git -C x push is
// git push. Where it is not known whether an option takes the next word, both readings count.
func withoutOptions(c *call) []string {
	if c.name == "git" {
		sub, rest := gitSubcommand(c)
		if c.arg(1) == sub && c.words[0].text == "git" {
			return pushes(sub, rest) // nothing stands before it
		}
		return append(pushes(sub, rest), strings.Join(append([]string{"git", sub}, rest...), " "))
	}
	if sub, ok := strings.CutPrefix(c.name, "git-"); ok {
		rest := texts(c.words[1:])
		return append(pushes(sub, rest), strings.Join(append([]string{"git", sub}, rest...), " "))
	}
	switch c.name {
	case "docker", "podman", "kubectl", "npm", "pnpm", "yarn", "gh", "cargo", "terraform", "systemctl", "helm", "aws",
		"gcloud", "go", "pip", "apt", "apt-get", "brew", "hg", "svn":
	default:
		return nil
	}
	if !strings.HasPrefix(c.arg(1), "-") {
		return nil
	}
	plain := texts(c.words)
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
	case "lfs", "subtree", "svn", "p4", "annex", "stash", "hub", "town", "spice", "machete", "branchless", "cinnabar",
		"remote":
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
