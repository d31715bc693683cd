package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// write is one message of a batch. It is refused if the newest message of its subject is not Last (0: there is one).
type write struct {
	subject string
	data    []byte
	last    uint64
}

// mostWrites is JetStream's limit for a batch.
const mostWrites = 1000

// errChanged is returned where another client wrote in between.
var errChanged = errors.New("it was changed by another client")

// writeAll writes all of the messages or none, into the stream of records.
func (f *Fleet) writeAll(ctx context.Context, writes ...write) error {
	batch := uuid.NewString()
	for i, w := range writes {
		m := nats.NewMsg(w.subject)
		m.Data = w.data
		m.Header.Set("Nats-Batch-Id", batch)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(w.last, 10))
		last := i == len(writes)-1
		if last {
			m.Header.Set("Nats-Batch-Commit", "1")
		}
		if i > 0 && !last {
			if err := f.nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		reply, err := f.nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			return err
		}
		if err := refusal(reply.Data); err != nil {
			return err
		}
	}
	return nil
}

// refusal reads the acknowledgement of a message; the first of a batch has an empty one.
func refusal(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	var ack struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(b, &ack); err != nil {
		return err
	}
	if ack.Error == nil {
		return nil
	}
	if ack.Error.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		ack.Error.ErrorCode == wrongLastSequenceConstant {
		return errChanged
	}
	return ack.Error
}

// wrongLastSequenceConstant is JetStream's other code for a message that came too late.
const wrongLastSequenceConstant = 10164

func stateSubject(id string) string  { return "fleet.state." + id }
func resultSubject(id string) string { return "fleet.result." + id }
func specSubject(id string) string   { return "fleet.spec." + id }

// put writes one record after the one that was read.
func (f *Fleet) put(ctx context.Context, r Record) (Record, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	m := nats.NewMsg(stateSubject(r.ID))
	m.Data = b
	m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(r.seq, 10))
	reply, err := f.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return r, err
	}
	if err := refusal(reply.Data); err != nil {
		return r, err
	}
	var ack struct {
		Seq uint64 `json:"seq"`
	}
	err = json.Unmarshal(reply.Data, &ack)
	r.seq = ack.Seq
	return r, err
}
