package llm

import (
	"sync"
	"unsafe"
)

// EncodeCache caches the encoding of each message by the identity of its Parts: messages are immutable
// (package doc), so the same slice has the same encoding. It keeps the encodings that recent requests used
// and drops the rest. It holds the Parts of its entries, so no other message can take their address. The zero
// value is ready; it is safe for concurrent use.
type EncodeCache[T any] struct {
	mu    sync.Mutex
	round uint64
	items map[partsKey]*cacheItem[T]
	last  []cacheSlot[T] // the messages of the last request: the next one usually begins with them
}

// cacheSlot is one message of the last request. Comparing it costs a tenth of looking its key up.
type cacheSlot[T any] struct {
	key  partsKey
	item *cacheItem[T]
}

type partsKey struct {
	first *Part
	n     int
	role  Role
	model string
}

type cacheItem[T any] struct {
	value T
	round uint64
}

// keepRounds is the number of requests after which an unused encoding is dropped. Subagents and small helper
// requests may use the same model in between.
const keepRounds = 16

// Encode calls yield with the encoding of each message in order; encode makes missing ones.
func (c *EncodeCache[T]) Encode(msgs []Message, encode func(*Message) T, yield func(int, T)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil {
		c.items = make(map[partsKey]*cacheItem[T], len(msgs)+16)
	}
	c.round++
	for i := range msgs {
		yield(i, c.at(i, &msgs[i], encode))
	}
	c.last = c.last[:len(msgs)]
	if len(c.items) > 2*len(msgs)+64 {
		c.sweep()
	}
}

// at encodes the message at index i of a request.
func (c *EncodeCache[T]) at(i int, m *Message, encode func(*Message) T) T {
	if i == len(c.last) {
		c.last = append(c.last, cacheSlot[T]{})
	}
	if len(m.Parts) == 0 {
		c.last[i] = cacheSlot[T]{}
		return encode(m)
	}
	slot := &c.last[i]
	key := partsKey{unsafe.SliceData(m.Parts), len(m.Parts), m.Role, m.Model}
	if slot.item == nil || slot.key != key {
		*slot = cacheSlot[T]{key, c.find(key, m, encode)}
	}
	slot.item.round = c.round
	return slot.item.value
}

func (c *EncodeCache[T]) find(key partsKey, m *Message, encode func(*Message) T) *cacheItem[T] {
	it := c.items[key]
	if it == nil {
		it = &cacheItem[T]{value: encode(m)}
		c.items[key] = it
	}
	return it
}

func (c *EncodeCache[T]) sweep() {
	for k, it := range c.items {
		if it.round+keepRounds < c.round {
			delete(c.items, k) // no longer in a slot: those were used in this round
		}
	}
}
