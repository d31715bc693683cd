package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// session is one headless run.
type session struct {
	started   time.Time
	wall, cpu time.Duration
	meter     *meter
	bill      *bill
	main      []llmtest.Request // the conversation, without requests for titles and summaries
}

// patience is how long one run may take.
const patience = 30 * time.Minute

// mostPriced is the number of steps up to which a session is priced: reading the requests of a longer one would take
// processor time from the program.
const mostPriced = 500

// hello measures one prompt with one answer.
func hello(ctx context.Context, p *program, _ options) (figures, error) {
	s, err := headless(ctx, p, &llmtest.Script{Replies: []llmtest.Reply{llmtest.Say(llmtest.Text("hello"))}}, 1)
	if err != nil {
		return nil, err
	}
	return append(figures{
		{"start to first request, ms", ms(s.main[0].Time.Sub(s.started))},
		{"first request, kB", float64(s.main[0].Bytes) / 1000},
		{"tools offered", float64(s.main[0].Tools)},
	}, s.figures()...), nil
}

// steps measures a session of tool calls that read and edit one file.
func steps(ctx context.Context, p *program, o options) (figures, error) {
	return calls(ctx, p, o, stepScript(o.steps, true))
}

// once measures a session of tool calls that reads no file again.
func once(ctx context.Context, p *program, o options) (figures, error) {
	p.copies = (o.steps + 3) / 4
	defer func() { p.copies = 0 }()
	return calls(ctx, p, o, stepScript(o.steps, false))
}

func calls(ctx context.Context, p *program, o options, script *llmtest.Script) (figures, error) {
	s, err := headless(ctx, p, script, o.steps+1)
	if err != nil {
		return nil, err
	}
	var gaps, sizes []float64
	for i, r := range s.main {
		sizes = append(sizes, float64(r.Bytes)/1000)
		if i > 0 {
			gaps = append(gaps, ms(r.Time.Sub(s.main[i-1].Ended)))
		}
	}
	part := min(100, max(1, len(gaps)/3))
	f := append(figures{
		{"gap between steps, ms", quantile(gaps, 0.5)},
		{fmt.Sprintf("gap, first %d steps, ms", part), quantile(gaps[:part], 0.5)},
		{fmt.Sprintf("gap, last %d steps, ms", part), quantile(gaps[len(gaps)-part:], 0.5)},
		{"CPU per step, ms", ms(s.cpu) / float64(o.steps)},
	}, s.figures()...)
	f = append(f, figure{"last request, kB", sizes[len(sizes)-1]}, figure{"largest request, kB", quantile(sizes, 1)})
	if o.steps <= mostPriced {
		f = append(f, s.bill.figures()...)
	}
	return f, nil
}

// figures are those of any headless run.
func (s *session) figures() figures {
	return figures{
		{"whole run, s", s.wall.Seconds()},
		{"CPU, s", s.cpu.Seconds()},
		{"peak memory, MB", s.meter.peak},
		{"proportional memory (PSS), MB", s.meter.pss},
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// headless runs the program once; want is the number of requests that its conversation must have.
func headless(ctx context.Context, p *program, script *llmtest.Script, want int) (*session, error) {
	s := &session{bill: newBill()}
	running := make(chan struct{})
	srv := llmtest.New(script, llmtest.Options{
		Lenient: true, Vars: map[string]string{"WORKDIR": p.dir()}, Arrived: func(r llmtest.Request) bool {
			<-running
			if r.N%10 == 1 {
				s.meter.readPSS()
			}
			if len(script.Replies) <= mostPriced {
				s.bill.add(r.Body)
			}
			return false
		},
	})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		return nil, err
	}
	defer srv.Close()
	cmd, err := p.command(srv.URL(), "hello")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.started = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.meter = startMeter(cmd.Process.Pid)
	close(running)
	defer context.AfterFunc(ctx, func() { killTree(cmd.Process.Pid) })()
	err = cmd.Wait()
	s.wall = time.Since(s.started)
	s.meter.stop()
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.main = conversation(srv.Requests())
	if werr := os.WriteFile(filepath.Join(p.root, "output.txt"), out.Bytes(), 0o644); werr != nil {
		return nil, werr
	}
	if err != nil || len(s.main) < want {
		end := out.String()[max(0, out.Len()-2000):]
		if err == nil {
			err = errors.New("it ended too early")
		}
		return nil, fmt.Errorf("%d requests of %d: %w; its output ends\n%s", len(s.main), want, err, end)
	}
	return s, nil
}

// conversation leaves out requests for titles and summaries, which offer few tools or none.
func conversation(all []llmtest.Request) []llmtest.Request {
	var out []llmtest.Request
	for _, r := range all {
		if r.Tools > 2 && r.Status == 200 {
			out = append(out, r)
		}
	}
	return out
}
