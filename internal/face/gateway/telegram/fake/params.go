package fake

import (
	"encoding/json"
	"strconv"
)

// params are the parameters of a call.
type params map[string]any

func (p params) num(name string) int64 {
	switch v := p[name].(type) {
	case float64:
		return int64(v)
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

func (p params) str(name string) string { s, _ := p[name].(string); return s }

func (p params) sub(name string) params { m, _ := p[name].(map[string]any); return m }

func (p params) buttons() (out [][]Button) {
	b, _ := json.Marshal(p.sub("reply_markup")["inline_keyboard"])
	_ = json.Unmarshal(b, &out)
	return out
}

func (p params) chat() Chat {
	id := p.num("chat_id")
	if id < 0 {
		return Group(id)
	}
	return Private(id)
}
