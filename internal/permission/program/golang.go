package program

import (
	"path"
	"slices"
	"strings"
)

// The flags of Go 1.26's command, which have one dash. Auto-allowed runs happen without network, module
// downloads and foreign toolchains; the flags below build nothing.
var goListFlags = &flagSet{
	oneDash:     true,
	alone:       "-m -deps -e -test -find -race -msan -asan -v -a -trimpath",
	value:       "-json? -tags -mod -compiler -buildmode -buildvcs? -p",
	text:        "-f",
	unsafe:      "-u -versions -retracted -compiled -export -n -x -work -i -modcacherw",
	unsafeValue: "-pkgdir -reuse -modfile -overlay -C -ldflags -gcflags -asmflags -gccgoflags -pgo",
	writes:      "-o",
	program:     "-toolexec -exec",
}

// goRows: the Go toolchain.
func goRows() map[string]spec {
	rows := map[string]spec{
		"go":         {class: neutral, raw: true, judge: verbs("-C --C -chdir")},
		"go version": {class: neutral, ops: "FILE...", flags: &flagSet{oneDash: true, alone: "-m -v -json"}},
		"go env": {class: neutral, ops: "TEXT...", flags: &flagSet{
			oneDash: true, alone: "-json -changed",
			unsafe: "-w -u",
		}},
		"go list": {
			class: list, ops: "TEXT...", flags: &flagSet{with: []*flagSet{goListFlags}, oneDash: true},
			judge: goModules,
		},
		"go doc": {class: read, ops: "TEXT TEXT", judge: goFolders, flags: &flagSet{
			oneDash:     true,
			alone:       "-all -c -cmd -short -src -u -ex",
			unsafeValue: "-C",
			exact:       "-http",
		}},
		"go help":       {class: neutral, ops: "TEXT...", flags: &flagSet{oneDash: true}},
		"go mod graph":  {class: list, flags: &flagSet{oneDash: true, value: "-go", unsafe: "-x"}},
		"go mod why":    {class: list, ops: "TEXT...", flags: &flagSet{oneDash: true, alone: "-m -vendor"}},
		"go mod verify": {class: read, flags: &flagSet{oneDash: true}},
		"go mod edit":   {class: write, does: "changes go.mod", ops: "FILE", flags: goModEditFlags, judge: goModEdit},
		"go work edit":  {class: write, does: "changes go.work", ops: "FILE", flags: goWorkEditFlags, judge: goModEdit},
		"go tool": {class: write, does: "runs a tool", plain: true, ops: "TEXT...", flags: &flagSet{
			oneDash: true,
			alone:   "-n",
		}, judge: goTool},
		"go vet":   {class: write, does: "builds what it looks at, with cgo", ops: "TEXT...", flags: goVetFlags},
		"go build": {class: write, does: "builds", ops: "TEXT...", flags: goBuildFlags},
		"go test":  {class: write, does: "builds and runs code of the project", ops: "TEXT...", flags: goTestFlags},
		"go run":   {class: write, does: "builds and runs code", ops: "TEXT...", plain: true, flags: goRunFlags},
		"gofmt":    {class: read, ops: "FILE...", flags: gofmtFlags, judge: judgeGofmt},
		"goimports": {
			class: write, does: "runs the go command, and may change files", ops: "FILE...",
			flags: &flagSet{oneDash: true},
		},
		"gofumpt": {
			class: write, does: "runs the go command, and may change files", ops: "FILE...",
			judge: asks("-version|--version"), flags: gofumptFlags,
		},
		"gopls": {class: write, does: "runs the go command", ops: "TEXT...", judge: asks("version")},
		"dlv":   {class: write, does: "runs code under a debugger", ops: "TEXT...", judge: asks("version")},
		"golangci-lint": {
			class: write, does: "runs what its configuration says", ops: "TEXT...",
			judge: asks("--version|version"),
		},
		"staticcheck": {class: write, does: "builds what it looks at", ops: "TEXT...", judge: asks("-version")},
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
		rows["go "+verb] = spec{class: write, does: does, ops: "TEXT...", flags: &flagSet{oneDash: true}}
	}
	return rows
}

var goModEditFlags = &flagSet{
	oneDash: true,
	alone:   "-json -print",
	value:   "-go -module -require",
}

var goWorkEditFlags = &flagSet{
	oneDash: true,
	alone:   "-json -print",
	value:   "-use",
}

var goVetFlags = &flagSet{
	oneDash: true,
	program: "-vettool -toolexec",
}

var goBuildFlags = &flagSet{
	oneDash: true,
	alone:   "-v -race",
	reads:   "-overlay",
	target:  "-o",
	program: "-toolexec",
}

var goTestFlags = &flagSet{
	oneDash: true,
	alone:   "-v -race",
	value:   "-count",
	text:    "-run",
	target:  "-o",
	program: "-exec -toolexec",
}

var goRunFlags = &flagSet{
	oneDash: true,
	program: "-exec -toolexec",
}

var gofmtFlags = &flagSet{
	oneDash: true,
	alone:   "-l -d -e -s",
	value:   "-r",
	unsafe:  "-w",
	writes:  "-cpuprofile",
}

var gofumptFlags = &flagSet{
	oneDash: true,
	alone:   "-version -l -d",
}

// goModules: -mod=mod lets go list change go.mod.
func goModules(c *call) {
	goFolders(c)
	if f, ok := c.get("-mod"); ok && f.value.Text != "readonly" && f.value.Text != "vendor" {
		c.refuse("go list -mod=" + f.value.Text + " may change go.mod")
	}
	if f, ok := c.get("-compiler"); ok && f.value.Text != "gc" {
		c.exact("go list -compiler=" + f.value.Text + " runs that compiler")
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
