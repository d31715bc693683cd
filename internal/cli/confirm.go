package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// asks reports whether there is a person to ask.
func (p *program) asks() bool { return p.inTTY && p.eTTY }

// confirm puts a question to the person at the terminal. Anything but yes is no, the end of input and a
// signal too.
func (p *program) confirm(ctx context.Context, question string) bool {
	fmt.Fprintf(p.err, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(p.in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case a := <-answer:
		return a == "y" || a == "yes"
	case <-ctx.Done():
		fmt.Fprintln(p.err)
		return false
	}
}

// confirmPrompt asks whether words that nearly name a command are a prompt.
func (p *program) confirmPrompt(ctx context.Context, doubt error) bool {
	return p.confirm(ctx, messagesName+": "+doubt.Error()+" Send it to the model as a prompt?")
}
