//go:build linux

package fleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// roleVariable makes the test's program a node of a cluster or a worker.
const roleVariable = "LATHE_FLEET_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "node":
		exitWith(nodeRole())
	case "worker":
		exitWith(workerRole())
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// nodeRole is one server of the cluster: its folder, host, name and routes are its arguments.
func nodeRole() error {
	dir, keys, host, port, routes := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	users, err := accounts(keys)
	if err != nil {
		return err
	}
	cert, err := certificate(dir, host)
	if err != nil {
		return err
	}
	base, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	o := &server.Options{
		ServerName: filepath.Base(dir), Host: host, Port: base, NoSigs: true, NoLog: true, Nkeys: users,
		JetStream: true, StoreDir: filepath.Join(dir, "js"), JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 4 << 30,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}, TLSTimeout: 10,
		Cluster: server.ClusterOpts{Name: "c", Host: host, Port: base + 1000},
	}
	for r := range strings.SplitSeq(routes, ",") {
		u, err := url.Parse(r)
		if err != nil {
			return err
		}
		o.Routes = append(o.Routes, u)
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}

// workerRole writes each job's prompt as its patch.
func workerRole() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	f, err := Open(ctx, Options{URL: os.Args[1], Key: os.Args[2], CA: os.Args[3], Worker: true, Lease: testLease})
	if err != nil {
		return err
	}
	defer f.Close()
	w := &Worker{Fleet: f, Slots: 4, Dir: os.Args[4], Kinds: map[string]Work{"": func(ctx context.Context, t *Task) (Outcome, error) {
		select {
		case <-time.After(50 * time.Millisecond): // the sleeping model
		case <-ctx.Done():
		}
		return say("did ")(ctx, t)
	}}}
	return w.Run(ctx)
}

const testLease = 3 * time.Second

// host is a network namespace, or, without the rights for one, this machine.
type host struct{ name, ip string }

func (h host) command(args ...string) *exec.Cmd {
	if h.name != "" {
		args = append([]string{"ip", "netns", "exec", h.name}, args...)
	}
	c := exec.Command(args[0], args[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// link takes a host off the network, or back.
func (h host) link(state string) {
	if h.name != "" {
		_ = exec.Command("ip", "-n", h.name, "link", "set", "eth0", state).Run() // the chaos is random anyway
	}
}

// hosts makes four network namespaces on a bridge.
func hosts(t *testing.T, n int) []host {
	t.Helper()
	run := func(args ...string) error { return exec.Command("ip", args...).Run() }
	bridge := fmt.Sprintf("lfb%d", os.Getpid()%100000)
	out := make([]host, n)
	if os.Getuid() != 0 || run("link", "add", bridge, "type", "bridge") != nil {
		t.Log("network namespaces cannot be made here: all hosts are this machine")
		for i := range out {
			out[i].ip = "127.0.0.1"
		}
		return out
	}
	t.Cleanup(func() { _ = run("link", "del", bridge) })
	must := func(args ...string) {
		t.Helper()
		if b, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v %s", args, err, b)
		}
	}
	must("addr", "add", "10.77.9.254/24", "dev", bridge)
	must("link", "set", bridge, "up")
	for i := range out {
		h := host{fmt.Sprintf("%s-%d", bridge, i), fmt.Sprintf("10.77.9.%d", i+1)}
		out[i] = h
		must("netns", "add", h.name)
		t.Cleanup(func() { _ = run("netns", "del", h.name) })
		outer := fmt.Sprintf("lfv%d-%d", os.Getpid()%10000, i)
		must("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", h.name)
		must("link", "set", outer, "master", bridge, "up")
		must("-n", h.name, "addr", "add", h.ip+"/24", "dev", "eth0")
		must("-n", h.name, "link", "set", "eth0", "up")
		must("-n", h.name, "link", "set", "lo", "up")
	}
	return out
}

// process is one that is started again when it was killed.
type process struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	start func() *exec.Cmd
	ended bool
}

func (p *process) run(t *testing.T) {
	t.Helper()
	go func() {
		for {
			p.mu.Lock()
			if p.ended {
				p.mu.Unlock()
				return
			}
			p.cmd = p.start()
			err := p.cmd.Start()
			p.mu.Unlock()
			if err == nil {
				_ = p.cmd.Wait() // killed, by the chaos or at the end
			}
			time.Sleep(200 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { p.kill(true) })
}

func (p *process) kill(end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = p.ended || end
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // it may have ended
	}
}

// TestJobsSurviveTheirCluster kills workers, nodes and links at random. The long form has 1,000 jobs.
func TestJobsSurviveTheirCluster(t *testing.T) {
	n := 60
	if os.Getenv("LATHE_FLEET_LONG") != "" {
		n = 1000
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, all := t.TempDir(), hosts(t, 4)
	keys := filepath.Join(dir, "fleet")
	key, err := AddWorker(keys, "far")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accounts(keys); err != nil {
		t.Fatal(err)
	}
	var urls, routes []string
	var authorities bytes.Buffer
	for i := range 3 {
		node := filepath.Join(dir, fmt.Sprintf("n%d", i))
		if err := os.MkdirAll(keysDir(node), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := certificate(node, all[i].ip); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(keysDir(node), "ca.pem"))
		if err != nil {
			t.Fatal(err)
		}
		authorities.Write(b)
		port := 24222 + i
		urls = append(urls, fmt.Sprintf("tls://%s:%d", all[i].ip, port))
		routes = append(routes, fmt.Sprintf("nats://%s:%d", all[i].ip, port+1000))
	}
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, authorities.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := func(h host, role string, args ...string) *process {
		p := &process{start: func() *exec.Cmd {
			c := h.command(append([]string{self}, args...)...)
			c.Env = append(os.Environ(), roleVariable+"="+role)
			return c
		}}
		p.run(t)
		return p
	}
	var nodes, workers []*process
	for i := range 3 {
		nodes = append(nodes, begin(all[i], "node", filepath.Join(dir, fmt.Sprintf("n%d", i)), keys, all[i].ip,
			strconv.Itoa(24222+i), strings.Join(routes, ",")))
	}
	f := openCluster(t, Options{Dir: keys, URL: strings.Join(urls, ","), CA: ca, Replicas: 3, Lease: testLease})
	for i, h := range all {
		workers = append(workers, begin(h, "worker", strings.Join(urls, ","), key, ca, filepath.Join(dir, fmt.Sprintf("w%d", i))))
	}
	var jobs []Job
	for i := range n {
		jobs = append(jobs, Job{ID: fmt.Sprintf("j%04d", i), Prompt: fmt.Sprintf("patch %d", i), Tries: 100})
	}
	ids := submit(t, f, jobs...)
	chaos(t, f, all, nodes, workers)
	results := map[string]int{}
	for i, id := range ids {
		r := over(t, f, id)
		res, err := f.Result(t.Context(), id)
		if err != nil || r.State != Done || res.Run != r.Run || res.Answer != "did "+jobs[i].Prompt {
			t.Errorf("%s: %v %+v %+v", id, err, r, res)
			continue
		}
		b, err := f.Blob(t.Context(), res.Patch)
		if err != nil || string(b) != jobs[i].Prompt {
			t.Errorf("%s: %v %q", id, err, b)
		}
		results[res.Run]++
	}
	if len(results) != n {
		t.Errorf("%d results of %d jobs", len(results), n)
	}
}

// openCluster connects when the cluster has a leader.
func openCluster(t *testing.T, o Options) *Fleet {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(300 * time.Millisecond) {
		f, err := Open(t.Context(), o)
		if err == nil {
			if err = f.Trust(t.Context(), o.Dir); err == nil {
				t.Cleanup(f.Close)
				return f
			}
			f.Close()
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// chaos kills until most jobs are over.
func chaos(t *testing.T, f *Fleet, all []host, nodes, workers []*process) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	killed := map[string]int{}
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		switch r.IntN(4) {
		case 0:
			nodes[r.IntN(len(nodes))].kill(false)
			killed["nodes"]++
			time.Sleep(4 * time.Second) // two of three are there
		case 1:
			h := all[r.IntN(len(all))]
			h.link("down")
			time.Sleep(2 * time.Second)
			h.link("up")
			killed["links"]++
			time.Sleep(2 * time.Second)
		default:
			workers[r.IntN(len(workers))].kill(false)
			killed["workers"]++
		}
		records, err := f.List(t.Context())
		left := 0
		for _, rec := range records {
			if !rec.State.Over() {
				left++
			}
		}
		if err == nil && len(records) > 0 && left == 0 && len(killed) == 3 {
			break
		}
	}
	t.Logf("killed %v", killed)
}
