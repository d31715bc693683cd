package conversation

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
)

// A prompt names another session of the machine as @name.

var peerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)@([\p{L}\d._-]+)`) })

// namePeers tells the model which words of a message are other sessions. Their states are not sent.
func (s *Session) namePeers(ctx context.Context, m llm.Message) llm.Message {
	words := peerName().FindAllStringSubmatch(authored(m), -1)
	if s.env.Peers == nil || len(s.chain) > 0 || len(words) == 0 {
		return m
	}
	all, err := s.env.Peers.List(ctx)
	if err != nil {
		return m // the words stay as they are; ListAgents reports the error
	}
	named := map[string]bool{}
	var lines []string
	for _, w := range words {
		word := strings.TrimRight(w[1], ".")
		for _, p := range all {
			if (p.ID == word || p.Handle() == strings.ToLower(word)) && !named[p.ID] {
				named[p.ID] = true
				lines = append(lines, fmt.Sprintf("@%s is another session of this machine, %s; SendMessage (find it with "+
					"ToolSearch) reaches it.", word, p.ID))
			}
		}
	}
	if len(lines) > 0 {
		m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], llm.Text{
			Text:   "<system-reminder>\n" + strings.Join(lines, "\n") + "\n</system-reminder>",
			Origin: llm.OriginReminder,
		})
	}
	return m
}
