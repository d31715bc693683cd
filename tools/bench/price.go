package main

import (
	"crypto/sha256"
	"encoding/json"
)

// The rules of a prompt cache, as Anthropic publishes them, and Claude Sonnet's price. A session here takes seconds, so
// no entry expires.
const (
	dollarsPerToken = 3.0 / 1e6
	bytesPerToken   = 3.6 // the same for every program
	factorRead      = 0.1
	factorWrite     = 1.25
	factorWriteHour = 2.0
	smallestPrefix  = 1024 // tokens; a shorter one is not cached
	lookback        = 20   // blocks before a mark in which an older entry is found
)

// bill adds up what the input of a session costs.
type bill struct {
	entries  map[[32]byte]bool // prefixes that a mark wrote
	seen     map[[32]byte]bool // all prefixes, for a provider that caches without marks
	marked   float64           // tokens, weighted by price
	auto     float64
	tokens   float64
	hasMarks bool
}

func newBill() *bill { return &bill{entries: map[[32]byte]bool{}, seen: map[[32]byte]bool{}} }

// block is a part of a request that a cached prefix may end with: a tool, a system text, a part of a message.
type block struct {
	prefix [32]byte // the hash of everything up to its end
	upTo   float64  // tokens up to its end
	mark   float64  // the factor of writing it; 0 without a mark
}

// add prices a request. It reads the longest entry that ends at one of its marks or closely before one, writes what
// follows up to its last mark, and pays the full price for the rest.
func (b *bill) add(body []byte) {
	blocks := blocksOf(body)
	if len(blocks) == 0 {
		return
	}
	size := blocks[len(blocks)-1].upTo
	hit, held := -1, 0.0
	for i, x := range blocks {
		for k := i; x.mark > 0 && k >= max(0, i-lookback) && k > hit; k-- {
			if b.entries[blocks[k].prefix] {
				hit, held = k, blocks[k].upTo
			}
		}
	}
	weighted := held * factorRead
	for i, x := range blocks {
		b.hasMarks = b.hasMarks || x.mark > 0
		if x.mark > 0 && i > hit && x.upTo >= smallestPrefix {
			weighted += (x.upTo - held) * x.mark
			held = x.upTo
			b.entries[x.prefix] = true
		}
	}
	b.marked += weighted + size - held
	b.auto += b.automatic(blocks)
	b.tokens += size
}

// automatic is the price where the longest prefix of any earlier request is read, and writing costs nothing.
func (b *bill) automatic(blocks []block) float64 {
	read := 0.0
	for _, x := range blocks {
		if b.seen[x.prefix] && x.upTo >= smallestPrefix {
			read = x.upTo
		}
		b.seen[x.prefix] = true
	}
	return read*factorRead + blocks[len(blocks)-1].upTo - read
}

func (b *bill) figures() figures {
	f := figures{{"input, thousand tokens", b.tokens / 1000}}
	if b.hasMarks {
		f = append(f, figure{"price of the input, as marked, $", b.marked * dollarsPerToken})
	}
	return append(f, figure{"price of the input, automatic cache, $", b.auto * dollarsPerToken})
}

// blocksOf lists the blocks of a request of any wire, in the order in which a provider renders them.
func blocksOf(body []byte) []block {
	var request map[string]any
	if json.Unmarshal(body, &request) != nil {
		return nil
	}
	var out []block
	sum, size := sha256.New(), 0.0
	add := func(value any, mark float64) {
		b, _ := json.Marshal(value) // it was JSON
		sum.Write(b)
		size += float64(len(b)) / bytesPerToken
		out = append(out, block{prefix: [32]byte(sum.Sum(nil)), upTo: size, mark: mark})
	}
	var walk func(value, role any)
	walk = func(value, role any) {
		if list, ok := value.([]any); ok {
			for _, x := range list {
				walk(x, role)
			}
			return
		}
		object, _ := value.(map[string]any)
		if parts, ok := object["content"].([]any); ok && object["role"] != nil {
			walk(parts, object["role"])
		} else if value != nil {
			mark := takeMark(object)
			add([]any{role, value}, mark)
		}
	}
	for _, name := range []string{
		"tools", "system", "instructions", "systemInstruction", "messages", "input", "contents",
	} {
		walk(request[name], name)
	}
	return out
}

// takeMark removes the cache mark of a block, which is no part of the prefix, and returns the factor of writing it.
func takeMark(v map[string]any) float64 {
	mark, ok := v["cache_control"].(map[string]any)
	if !ok {
		return 0
	}
	delete(v, "cache_control")
	if mark["ttl"] == "1h" {
		return factorWriteHour
	}
	return factorWrite
}
