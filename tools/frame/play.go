package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// player plays a script in its own tmux. A script has one step per line; # begins a comment:
//
//	size 100 30            columns and rows; before run
//	model FILE             answer requests for a model as the file says (see model.go); ${MODEL} is the URL
//	folder PATH            where the program works; it must not exist yet, and is removed in the end
//	copy FOLDER            begin with the files of a folder (x.go.txt becomes x.go), as a git repository
//	env NAME=VALUE         for the program; ${MODEL}, ${HOME} and ${GOCACHE} are replaced, HOME is empty and its own
//	run COMMAND...         start the program
//	wait REGEXP            until the screen shows it, for at most a minute
//	type TEXT              as if it was typed, with pauses as people make them while a film is made
//	key NAME...            keys by tmux's names: Enter, Escape, C-c, PageUp
//	pause SECONDS
//	shot FILE              write the screen as a picture, runs of empty rows drawn as one
//	film FILE              begin a moving picture
//	cut                    end it
//
// Files that are written are named from the folder where frame runs, files that are read from the script's.
type player struct {
	dir      string // of the script
	socket   string
	home     string
	cache    string // of the Go compiler: with an empty one, a film would show minutes of waiting
	work     string
	made     string // a folder to remove
	env      []string
	cols     int
	rows     int
	model    *model
	running  bool
	film     *camera
	filmFile string
}

func play(script string) error {
	f, err := os.Open(script)
	if err != nil {
		return err
	}
	defer f.Close()
	home, err := os.MkdirTemp("", "frame")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("go env GOCACHE: %w", err)
	}
	p := &player{
		cache: strings.TrimSpace(string(cache)), dir: filepath.Dir(script), socket: filepath.Join(home, "tmux"),
		home: filepath.Join(home, "home"), work: filepath.Join(home, "project"), cols: 100, rows: 30,
	}
	defer p.close()
	for _, d := range []string{p.home, p.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if err := p.step(word, strings.TrimSpace(rest)); err != nil {
			return fmt.Errorf("line %d: %s: %w", n, line, err)
		}
	}
	return in.Err()
}

func (p *player) close() {
	if p.running {
		_ = exec.Command("tmux", "-S", p.socket, "kill-server").Run()
	}
	if p.model != nil {
		p.model.close()
	}
	if p.made != "" {
		os.RemoveAll(p.made)
	}
}

func (p *player) step(word, rest string) error {
	switch word {
	case "size":
		_, err := fmt.Sscan(rest, &p.cols, &p.rows)
		return err
	case "model":
		m, err := startModel(filepath.Join(p.dir, rest), p.work)
		p.model = m
		return err
	case "copy":
		return p.copy(filepath.Join(p.dir, rest))
	case "folder":
		if err := os.Mkdir(rest, 0o700); err != nil {
			return err
		}
		p.work, p.made = rest, rest
		return nil
	case "env":
		p.env = append(p.env, rest)
		return nil
	case "run":
		return p.run(rest)
	case "wait":
		return p.wait(rest)
	case "type":
		return p.write(rest)
	case "key":
		_, err := p.tmux(append([]string{"send-keys"}, strings.Fields(rest)...)...)
		return err
	case "pause":
		s, err := strconv.ParseFloat(rest, 64)
		time.Sleep(time.Duration(s * float64(time.Second)))
		return err
	case "shot":
		lines, err := p.screen()
		if err != nil {
			return err
		}
		return os.WriteFile(rest, []byte(svg(dense(lines), p.cols)), 0o644)
	case "film":
		p.film, p.filmFile = p.roll(), rest
		return nil
	case "cut":
		return p.cut()
	}
	return errors.New("there is no such step")
}

// copy fills the project's folder.
func (p *player) copy(from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) == ".json" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.work, strings.TrimSuffix(e.Name(), ".txt")), b, 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "begin"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", p.work}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

func (p *player) expand(s string) string {
	url := ""
	if p.model != nil {
		url = p.model.url
	}
	return strings.NewReplacer("${MODEL}", url, "${HOME}", p.home, "${WORKDIR}", p.work, "${GOCACHE}", p.cache).Replace(s)
}

// run starts the program in a tmux that knows all colours. Its path is made absolute, since it runs in a
// folder of its own.
func (p *player) run(command string) error {
	args := strings.Fields(command)
	if len(args) == 0 {
		return errors.New("which program?")
	}
	if strings.Contains(args[0], "/") {
		abs, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		args[0] = abs
	}
	conf := filepath.Join(filepath.Dir(p.socket), "tmux.conf")
	if err := os.WriteFile(conf, []byte("set -g status off\nset -g default-terminal tmux-256color\nset -sa "+
		"terminal-overrides ',*:RGB'\nset -s escape-time 0\n"), 0o600); err != nil {
		return err
	}
	cmd := []string{
		"-f", conf, "new-session", "-d", "-x", strconv.Itoa(p.cols), "-y", strconv.Itoa(p.rows), "-c", p.work,
		"env", "-i", "PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TERM=tmux-256color", "COLORTERM=truecolor",
		"LANG=C.UTF-8",
	}
	for _, e := range p.env {
		cmd = append(cmd, p.expand(e))
	}
	for _, a := range args {
		cmd = append(cmd, p.expand(a))
	}
	_, err := p.tmux(cmd...)
	p.running = err == nil
	return err
}

func (p *player) tmux(args ...string) (string, error) {
	c := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// screen is the content of the terminal, with its colours.
func (p *player) screen() ([]string, error) {
	out, err := p.tmux("capture-pane", "-e", "-p", "-N")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	var l look
	for i := range lines { // a look may go on in the next line
		on := l.sequence()
		_, l = pieces(lines[i], l)
		lines[i] = on + lines[i]
	}
	return lines, nil
}

// sequence turns the look on.
func (l look) sequence() string {
	if l == (look{}) {
		return ""
	}
	p := []string{"0"}
	for code, on := range map[string]bool{
		"1": l.bold, "2": l.dim, "3": l.italic, "4": l.underline, "7": l.reversed,
		"9": l.strike,
	} {
		if on {
			p = append(p, code)
		}
	}
	for code, c := range map[string]string{"38": l.fg, "48": l.bg} {
		var r, g, b int
		if _, err := fmt.Sscanf(c, "#%02x%02x%02x", &r, &g, &b); err == nil {
			p = append(p, fmt.Sprintf("%s;2;%d;%d;%d", code, r, g, b))
		}
	}
	return "\x1b[" + strings.Join(p, ";") + "m"
}

const patience = time.Minute

func (p *player) wait(expr string) error {
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return err
	}
	var seen string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if seen, err = p.tmux("capture-pane", "-p"); err != nil {
			return err
		}
		if re.MatchString(seen) {
			return nil
		}
	}
	return fmt.Errorf("the screen never showed it:\n%s", seen)
}

func (p *player) write(text string) error {
	if p.film == nil {
		_, err := p.tmux("send-keys", "-l", "--", text)
		return err
	}
	for _, r := range text {
		if _, err := p.tmux("send-keys", "-l", "--", string(r)); err != nil {
			return err
		}
		time.Sleep(45 * time.Millisecond)
	}
	return nil
}

// camera takes pictures in the background.
type camera struct {
	stop  chan struct{}
	done  sync.WaitGroup
	shots []shot
	began time.Time
	err   error
}

// roll begins to take ten pictures a second, of which those that differ are kept.
func (p *player) roll() *camera {
	c := &camera{stop: make(chan struct{}), began: time.Now()}
	c.done.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			lines, err := p.screen()
			if err != nil {
				c.err = err
				return
			}
			if n := len(c.shots); n == 0 || strings.Join(c.shots[n-1].lines, "\n") != strings.Join(lines, "\n") {
				c.shots = append(c.shots, shot{time.Since(c.began).Seconds(), lines})
			}
			select {
			case <-c.stop:
				return
			case <-tick.C:
			}
		}
	})
	return c
}

func (p *player) cut() error {
	if p.film == nil {
		return errors.New("no film was begun")
	}
	c := p.film
	p.film = nil
	close(c.stop)
	c.done.Wait()
	if c.err != nil {
		return c.err
	}
	c.shots[0].at = 0
	return os.WriteFile(p.filmFile, []byte(film(c.shots, p.cols, time.Since(c.began).Seconds())), 0o644)
}
