package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// mediaReplacer is a Transcript in which media can be replaced by texts, for good.
type mediaReplacer interface {
	ReplaceMedia(ctx context.Context, media []llm.Media, text func(llm.Media) string) error
}

// withoutMedia replaces the images of a request that the provider refused because of one by notes, and reports
// whether the step may be sent again. Providers do not tell in a way that can be relied on which image it was,
// so those that came since the last reply go first, and only when there are none all others. Each time there are
// fewer, so this ends.
func (t *turn) withoutMedia(ctx context.Context, refusal *llm.Error) (bool, error) {
	log, ok := t.cfg.Transcript.(mediaReplacer)
	media := refusedMedia(t.cfg.Transcript.Messages())
	if !ok || len(media) == 0 {
		return false, refusal
	}
	why := cmp.Or(refusal.Message, string(refusal.Kind))
	note := func(m llm.Media) string {
		return fmt.Sprintf("[%s was here. It is not sent any more, because the provider refused it: %s]", mediaName(m),
			excerpt(why, 300))
	}
	names := mediaName(media[0])
	if n := len(media) - 1; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	err := t.record(func() error {
		return log.ReplaceMedia(context.WithoutCancel(ctx), media, note)
	}, event.Notice{Level: "warning", Text: fmt.Sprintf("the provider refused %s (%s); going on with a note in its place",
		names, excerpt(why, 300))})
	t.unwritten = t.unwritten || unwritten(err)
	return err == nil, cmp.Or(err, error(refusal))
}

func mediaName(m llm.Media) string {
	if m.Name == "" {
		return "an image (" + m.MIME + ")"
	}
	return "the image " + m.Name
}

// refusedMedia are the images that a refusal is most likely about.
func refusedMedia(msgs []llm.Message) []llm.Media {
	old := false
	var images []llm.Media
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == llm.Assistant && !old {
			if len(images) > 0 {
				break
			}
			old = true
		}
		images = append(images, imagesOf(msgs[i].Parts)...)
	}
	return images
}

func imagesOf(parts []llm.Part) []llm.Media {
	var out []llm.Media
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Media:
			if len(p.Data) > 0 && strings.HasPrefix(p.MIME, "image/") {
				out = append(out, p)
			}
		case llm.ToolResult:
			out = append(out, imagesOf(p.Parts)...)
		}
	}
	return out
}
