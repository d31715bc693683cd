package shell

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Node is one part of a line with the parts that run because of it or within it.
type Node struct {
	Part  permission.Part `json:"part"`
	Parts []Node          `json:"parts,omitempty"`
}

// Tree is the line as a tree of its parts, in the order of the text.
func Tree(line, dir string, w permission.World) []Node {
	a := settled(line, dir, w)
	nodes, _ := a.tree(0, -1)
	return nodes
}

// tree gathers the parts from at on that are deeper than above.
func (a *analysis) tree(at, above int) (nodes []Node, next int) {
	for at < len(a.parts) && a.levels[at] > above {
		node := Node{Part: a.parts[at]}
		level := a.levels[at]
		node.Parts, at = a.tree(at+1, level)
		nodes = append(nodes, node)
	}
	return nodes, at
}

// Explain draws the tree for people: each part with its class, the command around it and why it is not
// read-only, then the checks that fired. Text of the line is quoted where it holds characters that do not show.
func Explain(line, dir string, w permission.World) string {
	a := settled(line, dir, w)
	r := a.result()
	var b strings.Builder
	nodes, _ := a.tree(0, -1)
	draw(&b, nodes, "")
	for _, f := range r.Command.Findings {
		fmt.Fprintf(&b, "check %s (%s): %s\n", f.Check, f.Effect, visible(f.Text))
	}
	fmt.Fprintf(&b, "class %s\n", r.Command.Class)
	return b.String()
}

func draw(b *strings.Builder, nodes []Node, indent string) {
	for i, n := range nodes {
		branch, below := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, below = "└─ ", "   "
		}
		fmt.Fprintf(b, "%s%s%s  [%s]", indent, branch, visible(shorten(n.Part.Text)), n.Part.Class)
		if n.Part.Within != "" {
			fmt.Fprintf(b, " within %s", visible(n.Part.Within))
		}
		if n.Part.Reason != "" {
			fmt.Fprintf(b, ": %s", visible(shorten(n.Part.Reason)))
		}
		b.WriteByte('\n')
		draw(b, n.Parts, indent+below)
	}
}

// visible writes text so that every character shows: blanks of other alphabets, control and invisible
// characters as U+XXXX, line breaks as \n.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r != ' ' && blank(r), r >= 0x7f && r < 0xa0, r == 0xfffd:
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
