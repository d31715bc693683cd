package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/shell"
)

// program is an agent to measure, NAME=COMMAND on the command line of bench. The command is split as a shell splits it.
// Leading words of the form NAME=value are environment variables. Every word may have
//
//	{prompt}  the prompt
//	{url}     the server's base address, without /v1; {port} is its port
//	{dir}     the folder of the project, where the program starts
//	{home}    its HOME, empty before the first run and kept between runs
//
// The environment is a clean one, with PROMPT, PORT, URL and the usual variables for an address and a key.
type program struct {
	copies            int // of the data file in its project
	name, line, setup string
	root              string // holds the home and the project
}

func parseProgram(flag string, setups []string, root string) (*program, error) {
	name, line, ok := strings.Cut(flag, "=")
	if !ok || name == "" || strings.ContainsAny(name, " /") {
		return nil, fmt.Errorf("%q is not of the form NAME=COMMAND", flag)
	}
	p := &program{name: name, line: line, root: filepath.Join(root, name)}
	for _, s := range setups {
		if of, setup, _ := strings.Cut(s, "="); of == name {
			p.setup = setup
		}
	}
	return p, nil
}

func (p *program) home() string { return filepath.Join(p.root, "home") }
func (p *program) dir() string  { return filepath.Join(p.root, "project") }

// command makes the project and the command of one run against the server at address.
func (p *program) command(address, prompt string) (*exec.Cmd, error) {
	if err := p.makeProject(); err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("{prompt}", prompt, "{url}", address, "{port}", u.Port(),
		"{dir}", p.dir(), "{home}", p.home())
	words, err := shell.Fields(p.line, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.line, err)
	}
	env := strings.Fields(fill.Replace(environment))
	env = append(env, "PATH="+os.Getenv("PATH"), "PROMPT="+prompt)
	for len(words) > 0 && strings.Contains(words[0], "=") {
		env, words = append(env, fill.Replace(words[0])), words[1:]
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("%s: the command is empty", p.name)
	}
	for i := range words {
		words[i] = fill.Replace(words[i])
	}
	setup := exec.Command("sh", "-c", fill.Replace(p.setup))
	setup.Dir, setup.Env = p.dir(), env
	if out, err := setup.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("setup of %s: %w\n%s", p.name, err, out)
	}
	path, err := exec.LookPath(words[0])
	if err == nil {
		path, err = filepath.Abs(path) // a relative one holds from where bench runs
	}
	cmd := exec.Command(path, words[1:]...)
	cmd.Dir, cmd.Env = p.dir(), env
	return cmd, err
}

// environment leaves nothing of the caller's settings that changes the figures.
const environment = `HOME={home} PEER_HOME={home} TMPDIR={home}/tmp XDG_CONFIG_HOME={home}/.config
	XDG_DATA_HOME={home}/.local/share XDG_STATE_HOME={home}/.local/state XDG_CACHE_HOME={home}/.cache
	LANG=C.UTF-8 TERM=xterm-256color COLORTERM=truecolor NO_PROXY=127.0.0.1 DO_NOT_TRACK=1 PORT={port} URL={url}
	ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=sk-bench OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=sk-bench`

// makeProject makes a new git repository with one file, and its copies.
func (p *program) makeProject() error {
	if err := os.RemoveAll(p.dir()); err != nil {
		return err
	}
	for _, d := range []string{p.dir(), filepath.Join(p.home(), "tmp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if out, err := exec.Command("git", "-C", p.dir(), "init", "-q").CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w\n%s", err, out)
	}
	for i := range p.copies {
		name := filepath.Join(p.dir(), fmt.Sprintf("data-%d.txt", i))
		if err := os.WriteFile(name, []byte(dataFile()), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(p.dir(), "data.txt"), []byte(dataFile()), 0o644)
}
