package program

import "strings"

var dockerFlags = &flagSet{
	letters:     "D",
	alone:       "--debug",
	value:       "-l --log-level",
	reads:       "--tlscacert --tlscert --tlskey",
	unsafe:      "--tls --tlsverify",
	unsafeValue: "-H -c --config --context --host",
}

var dockerPsFlags = &flagSet{
	letters: "aqls",
	alone:   "--all --quiet --latest --no-trunc --size",
	value:   "-n --last",
	text:    "-f --filter --format",
}

var dockerImagesFlags = &flagSet{
	letters: "aq",
	alone:   "--all --quiet --no-trunc --digests --tree",
	text:    "-f --filter --format",
}

var dockerLogsFlags = &flagSet{
	letters: "ft",
	alone:   "--follow --timestamps --details",
	value:   "-n --tail",
	text:    "--since --until",
}

var dockerStatsFlags = &flagSet{
	letters: "a",
	alone:   "--all --no-stream --no-trunc",
	text:    "--format",
}

var dockerInspectFlags = &flagSet{
	letters: "sv",
	alone:   "--size --verbose",
	value:   "--type",
	text:    "-f --format",
}

var composeFlags = &flagSet{
	alone:       "--all-resources --compatibility",
	value:       "-p --project-name --profile --ansi --progress --parallel",
	reads:       "-f --file",
	unsafe:      "--dry-run",
	unsafeValue: "--env-file --project-directory -H --host -c --context",
}

// composeRows are the subcommands of docker compose that load no compose file, and those that run a program. All
// others, ps too, fetch what the compose file includes, from addresses that may hold values of .env.
func composeRows() map[string]spec {
	return map[string]spec{
		"ls":      {class: list, flags: &flagSet{letters: "aq", alone: "--all --quiet", text: "--format --filter"}},
		"version": {class: neutral, flags: &flagSet{alone: "--short", text: "-f --format"}},
		"exec":    {class: write, does: "runs a program in a container", raw: true, judge: containerRuns},
		"run":     {class: write, does: "runs a program in a container", raw: true, judge: containerRuns},
	}
}

// judgeCompose takes the flags before the subcommand. A subcommand without a row does what the compose file says.
func judgeCompose(c *call) {
	look := &call{name: c.name, args: c.args, env: c.env}
	i := 0
	for i < len(c.args) && strings.HasPrefix(c.args[i].Text, "-") && !c.args[i].Unknown && !c.args[i].Glob {
		i = look.flag(c.row.flags.grammar(), i) + 1
	}
	if i >= len(c.args) || c.args[i].Unknown || c.args[i].Glob {
		return
	}
	verb := c.args[i].Text
	if r, ok := rows()["docker compose "+verb]; ok && !strings.Contains(verb, " ") {
		sub := &call{name: c.name + " " + verb, row: r, env: c.env, args: c.args[i+1:]}
		sub.run()
		c.Use = sub.Use
		for _, s := range look.strange {
			c.refuse("the flag " + s + " of " + c.name + " is not known to be read-only")
		}
		for _, f := range look.flags {
			c.value(f)
		}
		return
	}
	c.parse()
	for _, f := range look.flags {
		c.value(f)
	}
	destroysWith("down rm kill stop")(c)
}

// dockerInspect: the description of a container holds its environment, which often has keys. A format that names
// harmless fields only shows those.
func dockerInspect(c *call) {
	f, ok := c.get("-f", "--format")
	if !ok || f.value.Unknown || !harmlessFields(f.value.Text) {
		c.refuse("docker inspect prints the environment of a container, which may hold secrets; --format " +
			"'{{.State.Status}}' prints a field")
	}
}

// harmlessFields reports whether a template names only fields of a container that hold no environment, no command
// line and nothing that is all of it. A field is one after range and with too, where the dot is something else.
func harmlessFields(template string) bool {
	for i := 0; i < len(template); i++ {
		if template[i] != '.' {
			continue
		}
		end := i + 1
		for end < len(template) && isLetter(template[end]) {
			end++
		}
		inAction := strings.LastIndex(template[:i], "{{") > strings.LastIndex(template[:i], "}}")
		name := template[i+1 : end]
		below := i > 0 && isLetter(template[i-1])
		switch {
		case !inAction:
		case below && (name == "Env" || name == "Cmd" || name == "Args" || name == "Entrypoint" || name == "Labels"):
			return false
		case !below && !contains(strings.Fields(inspectFields), name):
			return false
		case !below && name == "Config" && (end >= len(template) || template[end] != '.'):
			return false
		}
		i = end - 1
	}
	return !strings.Contains(template, "$") && !strings.Contains(template, "index") && !strings.Contains(template, "call")
}

// inspectFields are the fields of a container that show no secret, and Config, of which a field below must be named.
const inspectFields = `Id Name Created State Image Platform RestartCount Driver SizeRw SizeRootFs Mounts NetworkSettings Config
	IPAddress Ports Status Health ExitCode Running StartedAt FinishedAt Source Destination HostPort HostIp`

// judgeDocker takes the flags of docker itself; another daemon is another machine. podman and nerdctl have the
// same words.
func judgeDocker(c *call) {
	c.name = "docker"
	if len(c.args) == 1 && !c.args[0].Unknown && c.args[0].Text == "-v" {
		return
	}
	c.verb([]string{"-H", "--host", "-c", "--context", "--config"})
	for i, w := range c.args {
		for _, f := range []string{"-H", "--host"} {
			v, ok := strings.CutPrefix(w.Text, f+"=")
			if !ok && w.Text == f && i+1 < len(c.args) {
				v, ok = c.args[i+1].Text, true
			}
			if h := hostOf(v); ok && h != "" {
				c.Hosts = append(c.Hosts, h)
			}
		}
	}
}

// containerFlags of docker run and exec that take no value; all others take one.
const containerFlags = " -d -i -t -it -ti -dit -itd -P --rm --detach --interactive --tty --privileged --init " +
	"--read-only --no-healthcheck --publish-all --oom-kill-disable --sig-proxy --disable-content-trust --quiet -q -T " +
	"--no-TTY --no-deps --service-ports --build --use-aliases "

// containerRuns: flags, an image or a container, then a command.
func containerRuns(c *call) {
	c.Literal = true
	i := 0
	for ; i < len(c.args); i++ {
		w := c.args[i]
		if w.Unknown || w.Glob || !strings.HasPrefix(w.Text, "-") {
			break
		}
		c.containerFlag(i)
		if !strings.Contains(w.Text, "=") && !strings.Contains(containerFlags, " "+w.Text+" ") &&
			(strings.HasPrefix(w.Text, "--") || len(w.Text) == 2) {
			i++
		}
	}
	if i+1 < len(c.args) {
		c.Inner = append(c.Inner, c.args[i+1:])
	}
}

// containerFlag notes mounted folders, files of variables, and a replaced entry point.
func (c *call) containerFlag(i int) {
	w := c.args[i]
	name, value, ok := strings.Cut(w.Text, "=")
	if !ok && i+1 < len(c.args) {
		value = c.args[i+1].Text
	}
	switch name {
	case "-v", "--volume":
		from, rest, _ := strings.Cut(value, ":")
		if strings.HasSuffix(rest, ":ro") {
			c.Reads = append(c.Reads, from)
		} else if strings.ContainsAny(from, "/.") {
			c.Writes = append(c.Writes, from)
		}
	case "--env-file":
		c.Reads = append(c.Reads, value)
	case "--entrypoint":
		c.Inner = append(c.Inner, split(Word{Text: value}))
	}
}
