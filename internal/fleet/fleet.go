// Package fleet runs jobs for lathe on many machines.
//
// The words: a job is one piece of work for an agent; its record says what became of it; a worker is a process that
// takes jobs; a try is one run of a job by a worker; a result is what a job left behind. The engine is NATS JetStream,
// in this process or a cluster elsewhere.
//
// Promises:
//
//   - A job is in the queue until it has a result. A worker that dies loses its lease, and another one takes the job.
//   - A job has exactly one result: the result and the record that names it are written in one atomic batch, which
//     compares the record with the one that the worker claimed. Who lost a job in the meantime writes nothing.
//   - A job that failed Job.Tries times for reasons outside of it is parked with its reason.
//   - Results are signed by the key of their worker, and checked by who reads them.
//   - No job carries a secret: a session gets the environment of its worker.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams and the store of blobs.
const (
	queueStream = "FLEET_JOBS"    // fleet.jobs.PRIORITY.ID: a job that has no result
	specStream  = "FLEET_SPECS"   // fleet.spec.ID
	stateStream = "FLEET_STATE"   // fleet.state.ID, fleet.result.ID
	countStream = "FLEET_COUNT"   // fleet.spent, fleet.rate.MODEL.MINUTE: counters
	hereStream  = "FLEET_WORKERS" // fleet.worker.ID, gone without a heartbeat
	timeStream  = "FLEET_TIMES"   // fleet.time.ID: schedules; fleet.due.ID: what they made
	blobBucket  = "fleet"
)

// Fleet is a connection to the engine.
type Fleet struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	keys  Keys
	trust func(ctx context.Context) (map[string]bool, error) // public keys of workers
	close []func()
	blobs jetstream.ObjectStore
	lease time.Duration
}

// Close ends the connection, and the engine if it runs in this process.
func (f *Fleet) Close() {
	f.nc.Close()
	for i := len(f.close) - 1; i >= 0; i-- {
		f.close[i]()
	}
}

// ErrNot is returned for a job that the fleet does not have.
var ErrNot = errors.New("the fleet has no such job")

// prepare makes the streams if they are missing. Replicas is 1 or, in a cluster, up to 5.
func (f *Fleet) prepare(ctx context.Context, replicas int) error {
	base := jetstream.StreamConfig{Storage: jetstream.FileStorage, Replicas: replicas}
	queue, spec, state, count, here, times := base, base, base, base, base, base
	queue.Name, queue.Subjects, queue.Retention = queueStream, []string{"fleet.jobs.>"}, jetstream.WorkQueuePolicy
	queue.MaxMsgsPerSubject, queue.Discard, queue.DiscardNewPerSubject = 1, jetstream.DiscardNew, true
	spec.Name, spec.Subjects, spec.MaxMsgsPerSubject = specStream, []string{"fleet.spec.*"}, 1
	state.Name, state.Subjects = stateStream, []string{"fleet.state.*", "fleet.result.*", "fleet.trust", "fleet.limits"}
	state.MaxMsgsPerSubject, state.AllowAtomicPublish = 1, true
	count.Name, count.Subjects = countStream, []string{"fleet.spent", "fleet.rate.*.*"}
	count.AllowMsgCounter, count.AllowDirect, count.MaxMsgsPerSubject = true, true, 1
	here.Name, here.Subjects, here.MaxMsgsPerSubject = hereStream, []string{"fleet.worker.*"}, 1
	here.AllowMsgTTL, here.Storage = true, jetstream.MemoryStorage
	times.Name, times.Subjects = timeStream, []string{"fleet.time.*", "fleet.due.*"}
	times.AllowMsgSchedules, times.AllowMsgTTL, times.AllowRollup = true, true, true
	for _, c := range []jetstream.StreamConfig{queue, spec, state, count, here, times} {
		if _, err := f.js.CreateOrUpdateStream(ctx, c); err != nil {
			return fmt.Errorf("the stream %s: %w", c.Name, err)
		}
	}
	if err := f.prepareQueue(ctx); err != nil {
		return err
	}
	_, err := f.js.CreateOrUpdateConsumer(ctx, timeStream, jetstream.ConsumerConfig{
		Durable: "due", AckPolicy: jetstream.AckExplicitPolicy, AckWait: f.lease, FilterSubject: "fleet.due.*",
	})
	if err != nil {
		return err
	}
	f.blobs, err = f.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: blobBucket, Storage: jetstream.FileStorage, Replicas: replicas,
	})
	return err
}

// prepareQueue makes the consumers of the queue. The lease stays as it is unless this client was given one.
func (f *Fleet) prepareQueue(ctx context.Context) error {
	if f.lease == 0 {
		c, err := f.js.Consumer(ctx, queueStream, consumerOf(Priorities-1)) // the last one: then all are there
		if err == nil {
			f.lease = c.CachedInfo().Config.AckWait
			return nil
		}
		f.lease = defaultLease
	}
	for p := range Priorities {
		_, err := f.js.CreateOrUpdateConsumer(ctx, queueStream, jetstream.ConsumerConfig{
			Durable: consumerOf(p), AckPolicy: jetstream.AckExplicitPolicy, AckWait: f.lease, MaxDeliver: -1,
			MaxAckPending: -1, FilterSubject: fmt.Sprintf("fleet.jobs.%d.>", p),
		})
		if err != nil {
			return fmt.Errorf("the queue of priority %d: %w", p, err)
		}
	}
	return nil
}

func consumerOf(priority int) string { return fmt.Sprintf("p%d", priority) }

// get reads the last message of a subject from the leader of its stream.
func (f *Fleet) get(ctx context.Context, stream, subject string, into any) (seq uint64, err error) {
	req, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return 0, err
	}
	var reply struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq  uint64 `json:"seq"`
			Data []byte `json:"data"`
		} `json:"message"`
	}
	m, err := f.request(ctx, "$JS.API.STREAM.MSG.GET."+stream, req)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		return 0, err
	}
	switch {
	case reply.Error != nil && reply.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return 0, ErrNot
	case reply.Error != nil:
		return 0, reply.Error
	}
	return reply.Message.Seq, json.Unmarshal(reply.Message.Data, into)
}

// patience is how long the engine may be without a leader.
const patience = 30 * time.Second

// request asks the engine, also while it is between two leaders.
func (f *Fleet) request(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		once, end := context.WithTimeout(ctx, 3*time.Second)
		m, err := f.nc.RequestWithContext(once, subject, data)
		end()
		if err == nil || !passing(err) {
			return m, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the engine does not answer: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// passing says that a failure of the engine may pass.
func passing(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrConnectionReconnecting) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded)
}
