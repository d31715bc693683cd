package console

import (
	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
)

// Ask asks the user something beside the conversation. The answer comes later.
func (c *Console) Ask(q event.Question, answered func(event.Answer)) {
	id := uuid.NewString()
	c.mu.Lock()
	if c.asides == nil {
		c.asides = map[string]func(event.Answer){}
	}
	c.asides[id] = answered
	c.mu.Unlock()
	c.publish(event.Asked{ID: id, Question: q})
}

// answerAside handles the answer if it is to a question of Ask.
func (c *Console) answerAside(id string, a event.Answer) bool {
	c.mu.Lock()
	answered := c.asides[id]
	delete(c.asides, id)
	c.mu.Unlock()
	if answered == nil {
		return false
	}
	c.publish(event.Answered{ID: id, Answer: a})
	answered(a)
	return true
}

// Wake hands news from outside (see tool.Env.News) to the model: now, or when the running turn has ended in order.
func (c *Console) Wake(note string) {
	c.notice("info", "%s", note)
	c.wake(c.session())
}
