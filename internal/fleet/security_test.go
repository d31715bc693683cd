package fleet

import (
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

func TestAWorkerOnAnotherMachineNeedsItsKeyAndTLS(t *testing.T) {
	dir := t.TempDir()
	key, err := AddWorker(dir, "far")
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := AddWorker(t.TempDir(), "far")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	f := open(t, Options{Dir: dir, Listen: "127.0.0.1:" + port})
	url, ca := "tls://127.0.0.1:"+port, filepath.Join(keysDir(dir), "ca.pem")
	far, err := Open(t.Context(), Options{Dir: t.TempDir(), URL: url, Key: key, CA: ca, Worker: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(far.Close)
	work(t, far, 1, say("far "))
	id := submit(t, f, Job{Prompt: "x"})[0]
	over(t, f, id)
	if res, err := f.Result(t.Context(), id); err != nil || res.Answer != "far x" {
		t.Errorf("%v %+v", err, res)
	}
	for name, o := range map[string]Options{
		"a stranger's key": {URL: url, Key: stranger, CA: ca}, "another authority": {URL: url, Key: key},
		"no TLS": {URL: "nats://10.1.2.3:4222", Key: key},
	} {
		o.Dir, o.Worker = t.TempDir(), true
		if c, err := Open(t.Context(), o); err == nil {
			c.Close()
			t.Errorf("%s is admitted", name)
		}
	}
	for _, subject := range []string{
		"$JS.API.STREAM.DELETE." + queueStream, "$JS.API.STREAM.PURGE." + stateStream, "$JS.API.CONSUMER.CREATE." + stateStream,
		"$JS.API.STREAM.NAMES",
	} {
		if _, err := far.nc.Request(subject, nil, 300*time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
			t.Errorf("%s: a worker got an answer: %v", subject, err)
		}
	}
	if err := far.nc.Publish("fleet.trust", []byte(`{}`)); err == nil {
		_ = far.nc.Flush()
	}
	var trusted map[string]string
	if _, err := f.get(t.Context(), stateStream, "fleet.trust", &trusted); err != nil || len(trusted) != 3 {
		t.Errorf("a worker changed whom readers trust: %v %v", err, trusted)
	}
}

func TestAResultWithoutTheSignatureOfAWorkerIsRefused(t *testing.T) {
	f := open(t, Options{})
	work(t, f, 1, say(""))
	id := submit(t, f, Job{Prompt: "x"})[0]
	over(t, f, id)
	var s signed
	seq, err := f.get(t.Context(), stateStream, resultSubject(id), &s)
	if err != nil {
		t.Fatal(err)
	}
	forge := func(change func(*signed)) error {
		t.Helper()
		bad := s
		change(&bad)
		b, err := json.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		ack, err := f.js.Publish(t.Context(), resultSubject(id), b)
		if err != nil {
			t.Fatal(err)
		}
		seq = ack.Sequence
		_, err = f.Result(t.Context(), id)
		return err
	}
	if err := forge(func(s *signed) { s.Result = []byte(strings.Replace(string(s.Result), "done", "gone", 1)) }); !errors.Is(err, ErrForged) {
		t.Error(err)
	}
	other, err := makeKey(t.TempDir(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if err := forge(func(k *signed) {
		b, err := other.seal(s.Result)
		if err != nil || json.Unmarshal(b, k) != nil {
			t.Fatal(err)
		}
	}); !errors.Is(err, ErrForged) {
		t.Error(err)
	}
	if err := forge(func(*signed) {}); err != nil {
		t.Error(err)
	}
	_ = seq
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
