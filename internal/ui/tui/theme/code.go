package theme

import "github.com/lathe-dev/lathe/internal/base/syntax"

// Paint is how a kind of code looks.
func (t *Theme) Paint(k syntax.Kind) Style {
	switch k {
	case syntax.Keyword:
		return t.Syntax.Keyword
	case syntax.String:
		return t.Syntax.String
	case syntax.Number:
		return t.Syntax.Number
	case syntax.Comment:
		return t.Syntax.Comment
	case syntax.Function:
		return t.Syntax.Function
	case syntax.Type:
		return t.Syntax.Type
	case syntax.Constant:
		return t.Syntax.Constant
	case syntax.Variable:
		return t.Syntax.Variable
	case syntax.Operator:
		return t.Syntax.Operator
	case syntax.Tag:
		return t.Syntax.Tag
	case syntax.Added:
		return t.Diff.AddedMark
	case syntax.Removed:
		return t.Diff.RemovedMark
	}
	return t.CodeBlock
}
