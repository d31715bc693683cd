package program

import (
	"path"
	"slices"
	"strings"
)

// The flags of Go 1.26's command, which have one dash. Auto-allowed runs happen without network, module
// downloads and foreign toolchains; the flags below build nothing.
const goList = `-f=FORMAT -json?FIELDS -m -deps -e -test -find -tags=LIST -mod=W -compiler=W -pkgdir=BAD -race -msan -asan -v -a
	-u! -versions! -retracted! -compiled! -export! -reuse=BAD -n! -x! -work! -i! -modfile=BAD -overlay=BAD -toolexec=PROG -exec=PROG
	-modcacherw! -C=BAD -o=OUT -ldflags=BAD -gcflags=BAD -asmflags=BAD -gccgoflags=BAD -buildmode=W -buildvcs?W -p=N -pgo=BAD -trimpath`

// goRows: the Go toolchain.
func goRows() map[string]spec {
	rows := map[string]spec{
		"go":            {class: neutral, raw: true, judge: verbs("-C --C -chdir")},
		"go version":    {class: neutral, long: true, ops: "FILE...", flags: "-m -v -json"},
		"go env":        {class: neutral, long: true, ops: "TEXT...", flags: "-json -changed -w! -u!"},
		"go list":       {class: list, long: true, ops: "TEXT...", flags: goList, judge: goModules},
		"go doc":        {class: read, long: true, ops: "TEXT TEXT", flags: "-all -c -cmd -short -src -u -ex -C=BAD -http!!", judge: goFolders},
		"go help":       {class: neutral, long: true, ops: "TEXT..."},
		"go mod graph":  {class: list, long: true, flags: "-go=W -x!"},
		"go mod why":    {class: list, long: true, ops: "TEXT...", flags: "-m -vendor"},
		"go mod verify": {class: read, long: true},
		"go mod edit":   {class: write, does: "changes go.mod", long: true, ops: "FILE", flags: "-json -print -go=W -module=W -require=W", judge: goModEdit},
		"go work edit":  {class: write, does: "changes go.work", long: true, ops: "FILE", flags: "-json -print -use=W", judge: goModEdit},
		"go tool":       {class: write, does: "runs a tool", long: true, plain: true, ops: "TEXT...", flags: "-n", judge: goTool},
		"go vet":        {class: write, does: "builds what it looks at, with cgo", long: true, ops: "TEXT...", flags: "-vettool=PROG -toolexec=PROG"},
		"go build":      {class: write, does: "builds", long: true, ops: "TEXT...", flags: "-o=TO -toolexec=PROG -overlay=FILE -v -race"},
		"go test":       {class: write, does: "builds and runs code of the project", long: true, ops: "TEXT...", flags: "-exec=PROG -toolexec=PROG -o=TO -run=RE -v -race -count=N"},
		"go run":        {class: write, does: "builds and runs code", long: true, ops: "TEXT...", plain: true, flags: "-exec=PROG -toolexec=PROG"},
		"gofmt":         {class: read, long: true, ops: "FILE...", flags: "-l -d -e -s -r=RULE -w! -cpuprofile=OUT", judge: judgeGofmt},
		"goimports":     {class: write, does: "runs the go command, and may change files", long: true, ops: "FILE..."},
		"gofumpt":       {class: write, does: "runs the go command, and may change files", long: true, ops: "FILE...", flags: "-version -l -d", judge: asks("-version|--version")},
		"gopls":         {class: write, does: "runs the go command", ops: "TEXT...", judge: asks("version")},
		"dlv":           {class: write, does: "runs code under a debugger", ops: "TEXT...", judge: asks("version")},
		"golangci-lint": {class: write, does: "runs what its configuration says", ops: "TEXT...", judge: asks("--version|version")},
		"staticcheck":   {class: write, does: "builds what it looks at", ops: "TEXT...", judge: asks("-version")},
	}
	for verb, does := range perLine(`
		fmt          : changes files
		fix          : changes files
		install      : builds and installs
		generate     : runs commands that stand in the sources
		get          : changes go.mod and reaches the network
		clean        : removes what was built
		bug          : opens a browser
		work         : changes go.work
		mod          : changes modules
		telemetry    : changes settings
		mod tidy     : changes go.mod and reaches the network
		mod download : reaches the network
		mod vendor   : writes the vendor folder
		mod init     : creates go.mod
	`) {
		rows["go "+verb] = spec{class: write, does: does, long: true, ops: "TEXT..."}
	}
	return rows
}

// goModules: -mod=mod lets go list change go.mod.
func goModules(c *call) {
	goFolders(c)
	if f, ok := c.get("-mod"); ok && f.value.Text != "readonly" && f.value.Text != "vendor" {
		c.refuse("go list -mod=" + f.value.Text + " may change go.mod")
	}
	if f, ok := c.get("-buildvcs"); ok && f.value.Text != "false" {
		c.exact("go list -buildvcs runs git, with the programs that the repository names")
	}
}

// goFolders: packages may be named by their folder, one outside of the project too.
func goFolders(c *call) {
	for _, w := range c.ops {
		if path.IsAbs(w.Text) || strings.HasPrefix(w.Text, "~") || slices.Contains(strings.Split(w.Text, "/"), "..") {
			c.Reads = append(c.Reads, strings.TrimSuffix(strings.TrimSuffix(w.Text, "..."), "/"))
		}
	}
}

// goModEdit: asked to print, it changes nothing.
func goModEdit(c *call) {
	if c.has("-json", "-print") && len(c.flags) == 1 && len(c.strange) == 0 && len(c.unsure) == 0 && len(c.ops) == 0 {
		c.Class, c.Reason = read, ""
	}
}

// goTool: without a name it lists the tools.
func goTool(c *call) {
	if len(c.args) == 0 {
		c.Class, c.Reason = list, ""
	}
}

func judgeGofmt(c *call) {
	if c.has("-w") {
		c.Writes = append(c.Writes, c.Reads...)
	}
}
