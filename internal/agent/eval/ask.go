package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

const (
	answerTokens = 1_024
	judgeWait    = 2 * time.Minute
)

// Models are the models that judges use.
type Models struct {
	Get   func(ctx context.Context, name string) (llm.Model, error) // "small" is the small model
	Count func(purpose string, m llm.ModelInfo, u llm.Usage)        // adds a request to the session's cost
	// Explore answers a prompt with read-only tools, for judges that may read files.
	Explore func(ctx context.Context, model, prompt string) (string, error)
}

// small is the name of the small model.
const small = "small"

// mostRetries is how often a judge is asked again.
const mostRetries = 2

// ask puts a question to a judge until check takes the answer, three times at most.
func (m Models) ask(ctx context.Context, j Judge, system, question string, check func(answer string) error) error {
	ctx, cancel := context.WithTimeout(ctx, judgeWait)
	defer cancel()
	messages := []llm.Message{llm.UserText(question)}
	for try := 0; ; try++ {
		said, err := m.once(ctx, j, system, messages)
		if err != nil && try < mostRetries && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return err
		}
		broken := check(said.PlainText())
		if broken == nil || try == mostRetries {
			return broken
		}
		said.Parts = []llm.Part{llm.Text{Text: orNothing(said.PlainText())}}
		messages = append(messages, said, llm.UserText("This answer cannot be read: "+broken.Error()+
			". Answer again, with the JSON object alone."))
	}
}

// orNothing stands for an empty answer, which APIs refuse.
func orNothing(s string) string {
	if strings.TrimSpace(s) == "" {
		return "(nothing)"
	}
	return s
}

func (m Models) once(ctx context.Context, j Judge, system string, messages []llm.Message) (said llm.Message,
	err error,
) {
	name := cmp.Or(j.Model, small)
	if j.Tools && m.Explore != nil {
		var prompt []string
		for _, msg := range messages {
			prompt = append(prompt, msg.PlainText())
		}
		text, err := m.Explore(ctx, name, system+"\n\n"+strings.Join(prompt, "\n\n"))
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: text}}}, err
	}
	model, err := m.Get(ctx, name)
	if err != nil {
		return said, err
	}
	done := false
	for delta, err := range model.Stream(ctx, &llm.Request{
		System: []llm.Part{llm.Text{Text: system}}, Messages: messages,
		MaxTokens: answerTokens, Effort: "off",
	}) {
		if err != nil {
			return said, err
		}
		if d, ok := delta.(llm.Done); ok {
			said, done = d.Message, true
		}
	}
	if said.Usage != nil && m.Count != nil {
		m.Count("eval", model.Info(), *said.Usage)
	}
	if !done {
		return said, errors.New("the reply broke off")
	}
	return said, nil
}

// object finds the JSON object in an answer and reads it into v. Models like to put it into a code block or beside a
// sentence.
func object(answer string, v any) error {
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from {
		return errors.New("it has no JSON object")
	}
	if err := json.Unmarshal([]byte(answer[from:to+1]), v); err != nil {
		return fmt.Errorf("its JSON is not valid: %w", err)
	}
	return nil
}
