package program

import "strings"

// serviceRows: containers, clusters, clouds, databases and editors.
func serviceRows() map[string]spec {
	rows := map[string]spec{
		"docker":         {class: neutral, raw: true, flags: dockerFlags, judge: judgeDocker},
		"docker ps":      {class: list, flags: dockerPsFlags},
		"docker images":  {class: list, ops: "TEXT", flags: dockerImagesFlags},
		"docker version": {class: neutral, flags: &flagSet{text: "-f --format"}},
		"docker info":    {class: list, flags: &flagSet{text: "-f --format"}},
		"docker logs":    {class: read, ops: "TEXT", flags: dockerLogsFlags},
		"docker port":    {class: list, ops: "TEXT TEXT"},
		"docker top":     {class: list, ops: "TEXT"},
		"docker diff":    {class: list, ops: "TEXT"},
		"docker history": {class: list, ops: "TEXT", flags: &flagSet{
			letters: "qH",
			alone:   "--human --no-trunc --quiet", text: "--format",
		}},
		"docker stats": {class: list, ops: "TEXT...", flags: dockerStatsFlags},
		"docker volume ls": {class: list, flags: &flagSet{
			letters: "q", alone: "--quiet",
			text: "-f --filter --format",
		}},
		"docker network ls": {class: list, flags: &flagSet{
			letters: "q", alone: "--quiet --no-trunc",
			text: "-f --filter --format",
		}},
		"docker system df":       {class: list, flags: &flagSet{letters: "v", alone: "--verbose", text: "--format"}},
		"docker context ls":      {class: list, flags: &flagSet{letters: "q", alone: "--quiet", text: "--format"}},
		"docker inspect":         {class: list, ops: "TEXT...", flags: dockerInspectFlags, judge: dockerInspect},
		"docker image inspect":   {class: list, ops: "TEXT...", flags: dockerInspectFlags},
		"docker volume inspect":  {class: list, ops: "TEXT...", flags: dockerInspectFlags},
		"docker network inspect": {class: list, ops: "TEXT...", flags: dockerInspectFlags},
		"docker context show":    {class: list},
		"docker system info":     {class: list, flags: &flagSet{text: "-f --format"}},
		"docker buildx ls":       {class: list, flags: &flagSet{alone: "--no-trunc", text: "--format"}},
		"docker buildx version":  {class: neutral},
		"docker run": {
			class: write, does: "runs a program in a container, with what is mounted into it",
			raw: true, judge: containerRuns,
		},
		"docker exec":   {class: write, does: "runs a program in a container", raw: true, judge: containerRuns},
		"docker create": {class: write, does: "creates a container", raw: true, judge: containerRuns},
		"docker compose": {
			class: write, does: "does what the compose file says, and fetches what that includes",
			raw: true, flags: composeFlags, judge: judgeCompose,
		},
		"docker-compose": {
			class: write, does: "does what the compose file says, and fetches what that includes",
			raw: true, flags: composeFlags, judge: judgeCompose,
		},
		"kubectl": {class: write, does: "reaches a cluster", raw: true, judge: judgeKubectl},
		"helm":    {class: write, does: "reaches a cluster", ops: "TEXT...", judge: judgeHelm},
		"terraform": {
			class: write, does: "runs providers and reaches the network", ops: "TEXT...",
			judge: judgeTerraform,
		},
		"terraform fmt": {
			class: write, does: "changes files", ops: "FILE...", dot: true, flags: terraformFmtFlags,
			judge: terraformFmt,
		},
		"pulumi": {
			class: write, does: "runs code and reaches the network", ops: "TEXT...",
			judge: destroysWith("destroy cancel rm"),
		},
		"vagrant": {
			class: write, does: "runs what the Vagrantfile says", ops: "TEXT...",
			judge: destroysWith("destroy halt"),
		},
		"ansible-playbook": {class: write, does: "changes other machines", ops: "TEXT..."},
		"ansible":          {class: write, does: "changes other machines", ops: "TEXT...", flags: ansibleFlags},
		"aws":              {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"gcloud":           {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"gsutil":           {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"az":               {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"doctl":            {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"flyctl":           {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"heroku":           {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"vercel":           {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"netlify":          {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"wrangler":         {class: write, does: "reaches a cloud", ops: "TEXT...", judge: judgeCloud},
		"hub":              {class: write, does: "is git, and reaches GitHub", raw: true, judge: judgeHub},
		"gh":               {class: write, does: "reaches GitHub", ops: "TEXT...", judge: judgeCloud},
		"glab":             {class: write, does: "reaches GitLab", ops: "TEXT...", judge: judgeCloud},
		"psql":             {class: write, does: "reaches a database", ops: "TEXT...", flags: psqlFlags, judge: judgeSql},
		"mysql":            {class: write, does: "reaches a database", ops: "TEXT...", flags: mysqlFlags, judge: judgeSql},
		"sqlite3": {
			class: write, does: "can change files and run programs", ops: "OUT SQL...", judge: judgeSql,
			flags: sqlite3Flags,
		},
		"duckdb": {
			class: write, does: "can change files and run programs", ops: "OUT SQL...", flags: duckdbFlags,
			judge: judgeSql,
		},
		"redis-cli": {class: write, does: "reaches a database", ops: "TEXT...", judge: judgeRedis, flags: redisCliFlags},
		"mongosh": {class: write, does: "reaches a database", ops: "TEXT...", flags: &flagSet{
			code:  "--eval",
			hosts: "--host",
		}, judge: judgeSql},
		"pg_restore": {class: destructive, does: "overwrites a database", ops: "TEXT...", flags: &flagSet{
			letters: "cC",
			value:   "-d",
		}},
		"pg_dump": {
			class: write, does: "reaches a database", ops: "TEXT...",
			flags: &flagSet{hosts: "-h", writes: "-f --file"},
		},
		"gdb":  {class: write, does: "runs a program and its own commands", raw: true, judge: judgeDebugger},
		"lldb": {class: write, does: "runs a program and its own commands", raw: true, judge: judgeDebugger},
	}
	for _, n := range []string{"vim", "vi", "nvim", "view", "vimdiff", "gvim", "rvim"} {
		rows[n] = spec{class: write, does: "is an editor: it changes files and runs commands", raw: true, judge: judgeVim}
	}
	for _, n := range []string{
		"nano", "pico", "emacs", "emacsclient", "micro", "hx", "kak", "code", "cursor", "subl",
		"joe", "mg", "gedit", "kate",
	} {
		rows[n] = spec{
			class: write, does: "is an editor: it changes files and may run commands", ops: "OUT...",
			judge: asks("--version|-V|-v"), flags: editorFlags,
		}
	}
	for verb, does := range perLine(`
		rm              : removes containers
		rmi             : removes images
		kill            : ends containers
		stop            : ends containers
		restart         : restarts containers
		system prune    : removes what is not in use
		volume rm       : removes volumes with their data
		volume prune    : removes volumes with their data
		image rm        : removes images
		image prune     : removes images
		container rm    : removes containers
		container prune : removes containers
		container kill  : ends containers
		container stop  : ends containers
		network rm      : removes networks
		network prune   : removes networks
		builder prune   : removes what was built
		context rm      : removes a context
		swarm leave     : leaves a cluster
	`) {
		rows["docker "+verb] = spec{class: destructive, does: does, ops: "TEXT..."}
	}
	for verb, r := range composeRows() {
		rows["docker compose "+verb] = r
	}
	for from, to := range map[string]string{
		"container inspect": "inspect", "container diff": "diff",
		"container stats": "stats", "container ls": "ps", "container list": "ps", "container ps": "ps", "image ls": "images",
		"image list": "images", "container exec": "exec", "container run": "run", "container logs": "logs",
		"container top": "top", "volume list": "volume ls", "network list": "network ls", "container port": "port",
		"image history": "history",
	} {
		rows["docker "+from] = rows["docker "+to]
	}
	return rows
}

var ansibleFlags = &flagSet{
	letters: "b",
	value:   "-m -u",
	reads:   "-i",
	script:  "-a --args",
}

var psqlFlags = &flagSet{
	letters: "aAbeEHlnqsStwWxXz1",
	value:   "-d -U -p -v",
	code:    "-c --command",
	reads:   "-f --file",
	hosts:   "-h --host",
	writes:  "-o -L --output --log-file",
}

var mysqlFlags = &flagSet{
	value:   "-u -P -D -p?",
	code:    "-e --execute",
	hosts:   "-h --host",
	writes:  "--tee",
	program: "--pager?",
}

var sqlite3Flags = &flagSet{
	oneDash: true,
	alone:   "-readonly -json -csv -header -column -line -list -batch -version -safe",
	code:    "-cmd",
	reads:   "-init",
}

var duckdbFlags = &flagSet{
	oneDash: true,
	alone:   "-readonly -json -csv",
	code:    "-c",
}

var redisCliFlags = &flagSet{
	alone: "--raw --no-auth-warning",
	value: "-p -n",
	text:  "-a -u",
	hosts: "-h",
}

var editorFlags = &flagSet{
	value: "-f --eval",
	reads: "-l",
}

// judgeKubectl: only its version and its help do not reach the cluster.
func judgeKubectl(c *call) {
	asks("version --client|version --client=true|version --client --output=yaml|--help|help|options")(c)
	if c.Class.ReadOnly() {
		return
	}
	for i, w := range c.args {
		if w.Unknown {
			continue
		}
		switch w.Text {
		case "delete", "drain", "evict":
			c.destroy("kubectl " + texts(c.args[i:]) + " removes what runs in a cluster")
			return
		case "exec", "run", "debug":
			c.Literal = true
			for j, v := range c.args[i:] {
				if v.Text == "--" && i+j+1 < len(c.args) {
					c.Inner = append(c.Inner, c.args[i+j+1:])
				}
			}
			return
		}
	}
}

// destroysWith: with one of the words it destroys something.
func destroysWith(words string) func(*call) {
	list := strings.Fields(words)
	return func(c *call) {
		for _, w := range c.ops {
			if contains(list, w.Text) && !w.Unknown {
				c.destroy(c.name + " " + w.Text + " removes or ends what it names")
				return
			}
		}
	}
}

var terraformFmtFlags = &flagSet{
	oneDash: true,
	alone:   "-check -diff -recursive -no-color",
	value:   "-list -write",
}

// terraformFmt: asked to check, it changes nothing.
func terraformFmt(c *call) {
	f, ok := c.get("-write")
	if len(c.strange)+len(c.unsure) == 0 && (c.has("-check") && !ok || ok && f.value.Text == "false") {
		c.Class, c.Reason = read, ""
	}
}

func judgeRedis(c *call) {
	asks("--version|-v")(c)
	destroysWith("flushall flushdb FLUSHALL FLUSHDB del DEL unlink UNLINK shutdown SHUTDOWN")(c)
}

func judgeHelm(c *call) {
	asks("version|version --short|version --client")(c)
	destroysWith("uninstall delete rollback")(c)
}

func judgeTerraform(c *call) {
	asks("version|-version|--version|-v|version -json|workspace show")(c)
	if len(c.args) > 0 && c.args[0].Text == "fmt" && !c.args[0].Unknown {
		c.Class, c.Reason = neutral, ""
		c.subcommand(0)
		return
	}
	destroysWith("destroy taint force-unlock")(c)
	for _, w := range c.args {
		if strings.TrimLeft(w.Text, "-") == "destroy" {
			c.destroy("terraform destroys what it made")
		}
	}
}

// judgeCloud: verbs that remove.
func judgeCloud(c *call) {
	asks("--version")(c)
	for i, w := range c.ops {
		verb, _, _ := strings.Cut(w.Text, "-")
		_, after, colon := strings.Cut(w.Text, ":")
		if colon {
			verb = after
		}
		switch verb {
		case "delete", "rm", "rb", "terminate", "destroy", "remove", "purge", "deregister":
			if i > 0 || colon {
				c.destroy(c.name + " " + texts(c.ops[:i+1]) + " removes something far away")
				return
			}
		}
	}
}

// judgeSql: statements that destroy, and the shells' own commands.
func judgeSql(c *call) {
	asks("--version|-V|-version")(c)
	if c.Class.ReadOnly() {
		return
	}
	var statements []string
	for _, f := range c.flags {
		if f.takes == takesCode {
			statements = append(statements, f.value.Text)
		}
	}
	for _, w := range c.ops {
		statements = append(statements, w.Text)
	}
	for _, s := range statements {
		trimmed := strings.TrimSpace(s)
		upper := strings.ToUpper(s)
		switch {
		case strings.HasPrefix(trimmed, `\!`), strings.HasPrefix(trimmed, ".shell "), strings.HasPrefix(trimmed, ".system "):
			_, text, _ := strings.Cut(strings.TrimPrefix(trimmed, `\!`)+" ", " ")
			if strings.HasPrefix(trimmed, `\!`) {
				text = trimmed[2:]
			}
			c.Script = append(c.Script, strings.TrimSpace(text))
			c.Literal = true
		case holdsWord(upper, "DROP"), holdsWord(upper, "TRUNCATE"), holdsWord(upper, "DELETE"),
			strings.Contains(s, "drop(") || strings.Contains(s, "dropDatabase"):
			c.destroy(c.name + " removes data: " + s)
		}
	}
}

// judgeDebugger: -ex 'shell text'.
func judgeDebugger(c *call) {
	asks("--version|-v")(c)
	if c.Class.ReadOnly() {
		return
	}
	for i, w := range c.args {
		if i > 0 && (c.args[i-1].Text == "-ex" || c.args[i-1].Text == "--ex" || c.args[i-1].Text == "-iex" ||
			c.args[i-1].Text == "-o" || c.args[i-1].Text == "--eval-command") {
			c.debuggerCommand(w.Text)
		}
		if v, ok := strings.CutPrefix(w.Text, "-ex="); ok {
			c.debuggerCommand(v)
		}
		if w.Text == "--args" && i+1 < len(c.args) {
			c.Inner = append(c.Inner, c.args[i+1:])
		}
	}
}

func (c *call) debuggerCommand(s string) {
	c.Literal = true
	s = strings.TrimSpace(s)
	for _, p := range []string{"shell ", "!", "platform shell ", "pipe "} {
		if text, ok := strings.CutPrefix(s, p); ok {
			c.Script = append(c.Script, text)
		}
	}
}

// judgeVim: -c and + hold commands of the editor, some of which run shell text.
func judgeVim(c *call) {
	asks("--version")(c)
	if c.Class.ReadOnly() {
		return
	}
	for i, w := range c.args {
		command, ok := strings.CutPrefix(w.Text, "+")
		if i > 0 && (c.args[i-1].Text == "-c" || c.args[i-1].Text == "--cmd") {
			command, ok = w.Text, true
		}
		if ok {
			c.Literal = true
			if text, shell := strings.CutPrefix(strings.TrimLeft(command, ": "), "!"); shell {
				c.Script = append(c.Script, text)
			}
			continue
		}
		if !strings.HasPrefix(w.Text, "-") {
			c.Writes = append(c.Writes, w.Text)
		}
	}
}
