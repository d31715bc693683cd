package permission

import (
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"testing"
)

// pickOf joins random words of a list.
func pickOf(r *rand.Rand, words string) string {
	list := strings.Fields(words)
	return list[r.IntN(len(list))]
}

const (
	treeFolders = "src Src .git .ssh a b .config gh lathe .lathe node_modules .docker w etc docs sub.d {x} [y] u home"
	treeFiles   = "main.go Main.GO .env x.env .env.example id_rsa key.pem KEY.PEM config config.json auth.json " +
		"credentials a b x y README.md a.md .ssh gh hub w u lathe " +
		"data.txt secrets.yml ümlaut.go .. a~1 b:c c\\d x.. notes.JSON [y] {x} t.tfvars shadow proj src"
	ruleNames = "* ** *.go *.md .env* a b ? [ab] {a,b} {a,b/x} x src Src *.env main.* *a* \\[y\\] a** *.{pem,key} w " +
		"lathe {**,y} notes.json .. sub.d ümlaut.go"
	ruleStarts = "// //w/ //home/u/ ~/ / ./ ../ ../../ **/ //**/ //w/proj/ //proc/"
	ruleTools  = "Read Read Read Edit Grep Write external_directory Bash"
)

// randomRule returns a rule with a path, where the text makes one.
func randomRule(r *rand.Rand) (Rule, bool) {
	spec := ""
	if r.IntN(3) > 0 {
		spec = pickOf(r, ruleStarts)
	}
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			spec += "/"
		}
		spec += pickOf(r, ruleNames)
	}
	effect := []Effect{Deny, Deny, Ask, Allow}[r.IntN(4)]
	rule, err := ParseRule(testTools, pickOf(r, ruleTools)+"("+spec+")", effect, Source{Name: "test", Base: "/w/proj"})
	rule.Ordered = err == nil && r.IntN(6) == 0
	return rule, err == nil
}

func TestReadingsDecideAsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	effects := map[Effect]int{}
	shared := 0
	for range 1500 {
		var rules []Rule
		for range r.IntN(4) {
			if rule, ok := randomRule(r); ok {
				rules = append(rules, rule)
			}
		}
		roots := [][]string{
			{"/w/proj"},
			{"/w"},
			{"/home/u"},
			{"/w/proj", "/w/a/b"},
			{"/proc/self"},
			{"/home/u/.config"},
		}[r.IntN(6)]
		p := NewPolicy(testTools, "/home/u", roots, rules)
		p.AddRoot("/home/u/.local/share/lathe/blobs", true)
		p.Own = []string{"/w/a/lathe"}
		req := Request{Tool: "Read", Mode: Modes[r.IntN(len(Modes))], Dir: roots[0]}
		readings := p.Readings(req)
		for range 6 {
			dir := pickOf(r, "/w/proj /w /home/u /w/a/lathe /home/u/.config/lathe /home/u/.local/share "+roots[0])
			for range r.IntN(4) {
				dir = path.Join(dir, pickOf(r, treeFolders))
			}
			for range 12 {
				file := dir + "/" + pickOf(r, treeFiles)
				one := req
				one.Accesses = []Access{{Kind: Read, Target: file, Node: File}}
				if readings.known && readings.dir == dir+"/" {
					shared++
				}
				want := p.Decide(one).Effect
				effects[want]++
				if got := readings.Effect(file); got != want {
					t.Fatalf("%s with the roots %q and the rules %q in %s: %s, want %s", file, roots, texts(rules), req.Mode, got,
						want)
				}
			}
		}
	}
	if shared < 1000 || effects[Allow] < 1000 || effects[Ask] < 1000 || effects[Deny] < 1000 {
		t.Errorf("the files were too much alike: %d decisions for a folder, %v", shared, effects)
	}
}

func texts(rules []Rule) (out []string) {
	for _, r := range rules {
		out = append(out, string(r.Effect)+" "+r.Text)
	}
	return out
}

func TestReadingsSeeARuleForOneName(t *testing.T) {
	rule, err := ParseRule(testTools, "Read(**/b.txt)", Deny, Source{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	r := NewPolicy(testTools, "/home/u", []string{"/w"}, []Rule{rule}).Readings(Request{
		Tool: "Read", Mode: Default,
		Dir: "/w",
	})
	for file, want := range map[string]Effect{
		"/w/s/a.txt": Allow, "/w/s/b.txt": Deny, "/w/s/B.TXT": Deny,
		"/w/s/.env": Ask, "/w/s/c.txt": Allow,
	} {
		if got := r.Effect(file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

// BenchmarkReadings decides on 8,000 files in 400 folders, under a few rules for names and a few for folders.
func BenchmarkReadings(b *testing.B) {
	var rules []Rule
	for _, text := range []string{
		"Read(**/*.pem)", "Read(.env*)", "Read(secrets/**)", "Read(~/.ssh/**)",
		"Edit(/docs/**)", "Read(//etc/**)",
	} {
		rule, err := ParseRule(testTools, text, Deny, Source{Name: "test"})
		if err != nil {
			b.Fatal(err)
		}
		rules = append(rules, rule)
	}
	p := NewPolicy(testTools, "/home/u", []string{"/home/u/w"}, rules)
	req := Request{Tool: "Read", Mode: Default, Dir: "/home/u/w"}
	var files []string
	for i := range 8000 {
		files = append(files, "/home/u/w/src/folder"+strconv.Itoa(i/20)+"/file"+strconv.Itoa(i)+".go")
	}
	for name, decide := range map[string]func() func(string) Effect{
		"by folder":  func() func(string) Effect { return p.Readings(req).Effect },
		"one by one": func() func(string) Effect { return p.Readings(req).decide },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				effect := decide()
				for _, f := range files {
					if effect(f) != Allow {
						b.Fatal(f)
					}
				}
			}
		})
	}
}
