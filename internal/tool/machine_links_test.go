//go:build unix

package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// linked is a project with links in d1, none in tpl, and a repository.
func linked(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	for _, name := range []string{
		".git/hooks/x", ".git/config", ".env", "f", "tpl/f", "tpl/sub/g", "d1/plain", "was/e",
		"was/old", "dir/f", "in.txt",
	} {
		b.put(name, "x")
	}
	for name, target := range map[string]string{
		"d1/k": "../.git/hooks", "d1/h": t.TempDir(), "d1/e": "../.env", "d1/g": "../.git", "d1/loop": "loop",
		"rel/deep/k": "../.git/hooks", "lnk": ".git/hooks", "dir/in": "../in.txt",
	} {
		at := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, at); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestLinksThatALineCopiesAreFollowed(t *testing.T) {
	b := linked(t)
	p := permission.NewPolicy(tool.Catalogue(), "/home/u", []string{b.dir}, nil)
	for _, line := range []string{
		"cp -r d1 dc && cp f dc/k/pre-commit", "cp -r d1/. db; cp f db/k/post-checkout", "cp -r d1 d2; touch d2/g/hooks/zz5",
		`cp -rs "$PWD/d1" dd; cp f dd/k/pre-push`,
		"mv d1 de; cp f de/k/commit-msg", "cp -r d1 da; cp f da/h/newfile", "cp -r d1 d8; cat d8/h/out.txt",
		"cp -r d1 d9; cat d9/e", "cp -s /etc/os-release c && touch c",
		`cp -s "$PWD/.git/description" c3; touch c3`, "mv d1 d4; cp f d4/g/hooks/pre-push",
		"cp -a d1 dc && sed -i s/a/b/ dc/e", "cp -r d1 dc; mv f dc/e",
		"cp -r d1 dc && cd dc/k && touch pre-commit", "cp -r d1 dc; cd dc; cat e", "cp -r d1 dc; cat dc/*",
		"cp -r d1 dc; touch dc/k/../config",
		"cp -r d1 dc; touch dc/g/../../outside", "cp -r d1 a; cp -r a b; touch b/k/x", "mv d1 a; mv a b; touch b/k/x",
		"cp -r d1/k kk; touch kk/pre-commit", "mv lnk m; touch m/pre-commit",
		"cp -P lnk m; touch m/pre-commit", "cp -d d1/e m; cat m", "cp -l .git/config c; cp f c",
		"cp --link .git/config c; cp f c", "cp -r rel/deep deep; touch deep/k/x",
		"cp -r d1/. was; cat was/e", "cp -r d1/. was; touch was/e", "cp -r d1/. was; cat was/*",
		"cp -r d1 tpl; cat tpl/d1/e", "mkdir -p x && cp -r d1/. x && rm x/k/y",
		"cp -r d1 dc; cat < dc/e", "cp -r d1 dc; echo x > dc/k/pre-commit", "cp -r d1 dc; ls dc",
		"cp -r d1 x; cp -rL x y; cat y/e", "cp -r d1 dc; dc/k/run",
		"cp --symbolic f c; cp -s .env c2; cat c2", "cp -r d1 dc & touch dc/k/x", "touch c; cp -sf .env c; cat c",
		strings.Repeat("cp -r d1 a; cp -r d1 b; ", 60) + "cat b/e",
		"cp --parents -a rel/deep was; touch was/rel/deep/k/x", "cp --par -a d1/k was; touch was/d1/k/x",
		"rmdir was; mv d1 was; touch was/k/x", "mkdir n; cp -r d1 n; touch n/d1/k/x",
		`find d1 -name e -exec cp -P {} z \; ; cat z`, "find d1 -type l -exec cp -P -t was {} + ; cat was/e",
	} {
		r := permission.Request{Tool: "Bash", Dir: b.dir, Mode: permission.AcceptEdits, Accesses: b.accesses(line)}
		if d := p.Decide(r); d.Effect == permission.Allow {
			t.Errorf("%s: %s (%s)", line, d.Effect, d.Reason)
		}
	}
}

func TestARuleForAFolderDoesNotCoverLinksThatALineMakes(t *testing.T) {
	b := linked(t)
	for _, line := range []string{
		"ln -s d1/h c && touch c/new", "ln .git/description c; cat c > c", "tar xf a.tar && touch x/new",
		"tar xf a.tar -C was && cat was/new", "unzip a.zip && touch x/new", "rsync -a d1/ dst/; cat dst/e",
		"rsync -a d1 dst; cat dst/d1/e", "git checkout other && touch new", "git stash pop; cat new",
		"git restore . && cat new", "git worktree add w b && touch w/k/x", "cp -r d1 dc && touch dc/new",
	} {
		rule := func(text string) permission.Rule {
			r, err := permission.ParseRule(tool.Catalogue(), text, permission.Allow, permission.Source{Name: "test"})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		p := permission.NewPolicy(tool.Catalogue(), "/home/u", []string{b.dir}, []permission.Rule{
			rule("Bash(*)"),
			rule("Edit"), rule("Read"), rule("Edit(/**)"),
		})
		d := p.Decide(permission.Request{Tool: "Bash", Dir: b.dir, Mode: permission.AcceptEdits, Accesses: b.accesses(line)})
		if d.Effect == permission.Allow {
			t.Errorf("%s: %s (%s)", line, d.Effect, d.Reason)
		}
	}
}

func TestGuardedFilesBehindLinksThatALineMakesAreRefusedInBypass(t *testing.T) {
	b := linked(t)
	p := permission.NewPolicy(tool.Catalogue(), "/home/u", []string{b.dir}, nil)
	for _, line := range []string{
		`cp -s "$PWD/.git/config" c && cp f c`, "mv d1 d4; cp f d4/g/hooks/pre-push", "cp -r d1 dc && cp f dc/k/pre-commit",
		"ln -s .git/hooks h; cp f h/pre-commit",
		"ln -s ../.git/hooks was/h; cp f was/h/pre-commit", "cp -r rel/deep deep; touch deep/k/x",
		"cp -l .git/config c; cp f c", "ln -s .git was/x; ln -s ../.git was/y; touch was/y/config",
		"mv d1 a; mv a b; mv b c; touch c/k/x", "mv d1 a; (mv a b); cp f b/k/x",
		"mv rel/deep was; mv was e; touch e/deep/k/x", "mkdir n; mv d1 n; mv n m; touch m/d1/k/x",
		"rmdir was && mv d1 was && touch was/k/x", "rm -r was; cp -a d1 was && cp f was/k/x",
		"mv was q; mv d1 was; cd was; touch k/x", "git mv was q; mv d1 was; echo x > was/k/x",
		"ln -s .git l; cp -P l m; cp f m/hooks/x", "ln -s ../.git was/l; mv was s; cp f s/l/hooks/x",
		"mkdir q; ln -s ../.git q/l; mv q r; cp f r/l/hooks/x",
		"cp --parents -a rel/deep was; cp -a was/rel/deep e; touch e/k/x", "echo f | xargs -I{} cp {} .git/hooks/",
		"echo .git/hooks/y | xargs cp f", `find . -name f -exec cp {} .git/hooks/ \;`,
	} {
		d := p.Decide(permission.Request{Tool: "Bash", Dir: b.dir, Mode: permission.Bypass, Accesses: b.accesses(line)})
		if d.Effect != permission.Deny {
			t.Errorf("%s: %s (%s)", line, d.Effect, d.Reason)
		}
	}
}

func TestCopiesWithoutLinksStayUnasked(t *testing.T) {
	b := linked(t)
	for i := range 150 {
		b.put(fmt.Sprintf("many/%d.go", i), "x")
	}
	p := permission.NewPolicy(tool.Catalogue(), "/home/u", []string{b.dir}, nil)
	for _, line := range []string{
		"cp -r tpl x && ls x", "mkdir -p x && cp -r tpl/. x && sed -i s/a/b/ x/f", "cp f g && cat g",
		"mv tpl x && cat x/sub/g", "mv f g; touch g",
		"cp -r d1 dc", "mv d1 dc", "cp -r tpl x && cd x && cat f", "cp f was/new; cat was/*",
		"cp -r dir dd; cat in.txt",
		"cp lnk/x g; cat g", "cp f g; cp g h; mv h i; cat i", "mv tpl t2; mv was tpl; mv t2 was; ls tpl", "cat ./tpl/../f",
		"cp -r tpl ../" + filepath.Base(b.dir) + "/x; cat x/f", "cp -rl tpl x; cat x/f", "cp -s f c; cat c",
	} {
		r := permission.Request{Tool: "Bash", Dir: b.dir, Mode: permission.AcceptEdits, Accesses: b.accesses(line)}
		if d := p.Decide(r); d.Effect != permission.Allow {
			t.Errorf("%s: %s (%s)", line, d.Effect, strings.ReplaceAll(d.Reason, b.dir, ""))
		}
	}
}
