package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/permission"
)

func (q *lspQuery) actions(ctx context.Context) (string, error) {
	if q.env.Language == nil {
		return "", lsp.ErrNoServer
	}
	query, err := q.place(ctx)
	if err != nil {
		return "", err
	}
	if q.in.Action != "" {
		return q.previewed(ctx)
	}
	list, err := q.env.Language.Actions(ctx, query)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "No actions are offered there.", nil
	}
	var b strings.Builder
	for _, a := range list {
		b.WriteString(a.Title)
		if a.Kind != "" {
			b.WriteString(" (" + a.Kind + ")")
		}
		if why := a.Applicable(); why != "" {
			b.WriteString(" [cannot be applied: " + why + "]")
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// edits asks for the changes of a rename or of an action.
func (q *lspQuery) edits(ctx context.Context) (lsp.Edits, error) {
	if q.env.Language == nil {
		return lsp.Edits{}, lsp.ErrNoServer
	}
	query, err := q.place(ctx)
	if err != nil {
		return lsp.Edits{}, err
	}
	if q.op == lsp.Rename {
		return q.env.Language.Rename(ctx, query)
	}
	return q.env.Language.Apply(ctx, query, q.in.Action)
}

// patching turns changes into a patch of files that are held open.
func (q *lspQuery) patching(ctx context.Context) (*patching, error) {
	edits, err := q.edits(ctx)
	if err != nil {
		return nil, err
	}
	p := &patching{env: q.env.Files, by: map[string]*patched{}}
	for _, c := range edits.Changes {
		f, err := p.file(c.Path)
		if err == nil && string(f.before) != c.Before {
			err = fmt.Errorf("%s was changed meanwhile; nothing was changed, try again", c.Path)
		}
		if err != nil {
			p.close()
			return nil, err
		}
		f.after, f.touched, f.verb = []byte(c.After), true, "M"
	}
	if len(p.order) == 0 {
		return nil, errors.New("the language server changes nothing")
	}
	if err := p.finish(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// change prepares a rename or an action: one patch over all files.
func (q *lspQuery) change(ctx context.Context) (*agent.Plan, error) {
	p, err := q.patching(ctx)
	if err != nil {
		return nil, err
	}
	var accesses []permission.Access
	for _, f := range p.order {
		accesses = append(accesses, q.env.place(f.path).Access(permission.Write, f.path.Named))
	}
	return &agent.Plan{Accesses: accesses, Title: q.title(), Preview: p.view(), Run: p.run, Close: p.close}, nil
}

// previewed shows the changes and makes none.
func (q *lspQuery) previewed(ctx context.Context) (string, error) {
	p, err := q.patching(ctx)
	if err != nil {
		return "", err
	}
	defer p.close()
	var b strings.Builder
	fmt.Fprintf(&b, "%d files would change; nothing was changed.\n", len(p.order))
	for _, f := range p.order {
		if _, ok := q.readable(f.path.Real); !ok {
			fmt.Fprintf(&b, "%s: +%d -%d, not shown, since reading it needs permission\n", q.env.Rel(f.path.Lexical),
				f.diff.Added, f.diff.Removed)
			continue
		}
		b.WriteString(f.diff.Unified)
	}
	return clipText(b.String()), nil
}
