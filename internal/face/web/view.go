package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/syntax"
	"github.com/lathe-dev/lathe/internal/event"
)

// view writes one of the shapes in which calls are shown. whole: nothing is folded, since somebody decides on it.
func view(w *writer, v event.View, whole bool) {
	switch v := v.(type) {
	case event.Diff:
		diff(w, v, whole)
	case event.Command:
		command(w, v, whole)
	case event.Listing:
		listing(w, v)
	case event.TextView:
		if v.Language == "markdown" {
			w.tag(`<div class="prose">`)
			markdown(w, v.Text)
			w.tag("</div>")
		} else if v.Text != "" {
			code(w, v.Text, v.Language, v.Path)
		}
	case event.Todo:
		todo(w, v)
	case event.Image:
		picture(w, v.MIME, v.Data, v.Name)
	case event.Subagent:
		if v.Result != "" {
			w.tag(`<div class="prose">`)
			markdown(w, v.Result)
			w.tag("</div>")
		}
	case event.UnknownView:
		var b bytes.Buffer
		if json.Indent(&b, v.JSON, "", "  ") == nil {
			code(w, b.String(), "json", "")
		}
	}
}

// command writes a command with its output.
func command(w *writer, v event.Command, whole bool) {
	for _, s := range v.Warning {
		w.element(`<p class="danger">`, s, "</p>")
	}
	commandLine(w, v.Command)
	output(w, v.Output)
	note := func(s string) { w.element(`<p class="note">`, s, "</p>") }
	switch {
	case whole:
	case v.TimedOut:
		note("ended by its time limit")
	case v.Cancelled:
		note("cancelled")
	case v.ExitCode != 0:
		note("exit code " + strconv.Itoa(v.ExitCode))
	}
	if v.Background != "" {
		note("runs in the background as " + v.Background)
	}
	if v.OutputRef != "" {
		note("all of the output is in " + v.OutputRef)
	}
}

// commandLine writes a command as it would run, line by line, nothing left out.
func commandLine(w *writer, s string) {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return
	}
	w.tag(`<pre class="cmd" tabindex="0"><code>`)
	lang := syntax.Find("bash")
	var state syntax.State
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.tag("\n")
		}
		state = lang.Line(state, line, func(k syntax.Kind, text string) {
			if classes[k] == "" {
				w.line(text)
				return
			}
			w.tag(`<span class="`, classes[k], `">`)
			w.line(text)
			w.tag("</span>")
		})
	}
	w.tag("</code></pre>")
}

func listing(w *writer, v event.Listing) {
	if len(v.Items) == 0 {
		w.tag(`<p class="note">nothing found</p>`)
		return
	}
	w.tag(`<pre class="out" tabindex="0">`)
	fold := newFold(w, len(v.Items), 8, 0)
	for i, s := range v.Items {
		fold.at(i)
		w.line(s)
		w.tag("\n")
	}
	fold.end()
	w.tag("</pre>")
	if left := v.Total - len(v.Items); left > 0 || v.Truncated {
		w.tag(`<p class="note">there are more, not listed</p>`)
	}
}

func todo(w *writer, v event.Todo) {
	w.tag(`<ul class="todo">`)
	for _, i := range v.Items {
		text := i.Content
		switch i.Status {
		case "completed":
			w.tag(`<li class="done"><span class="box" role="img" aria-label="done">☑</span> `)
		case "in_progress":
			w.tag(`<li class="active"><span class="box" role="img" aria-label="in progress">◐</span> `)
			if i.ActiveForm != "" {
				text = i.ActiveForm
			}
		default:
			w.tag(`<li><span class="box" role="img" aria-label="open">☐</span> `)
		}
		w.line(text)
		w.tag("</li>")
	}
	w.tag("</ul>")
}

// mostPicture is how many bytes of a picture go to the page.
const mostPicture = 4 << 20

// picture writes an image, or its name where browsers would run it or it is too large.
func picture(w *writer, mime string, data []byte, name string) {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		data = nil
	}
	if name == "" {
		name = "image"
	}
	if len(data) == 0 || len(data) > mostPicture {
		w.element(`<p class="note">`, name+" ("+mime+", "+count(len(data), "byte")+")", "</p>")
		return
	}
	w.tag(`<img loading="lazy"`)
	w.attr(" alt=", name)
	w.attr(" src=", "data:"+mime+";base64,"+base64.StdEncoding.EncodeToString(data))
	w.tag(">")
}

// summary is what a call came to, in a few words.
func summary(v event.View) string {
	switch v := v.(type) {
	case event.Listing:
		return count(max(v.Total, len(v.Items)), "result")
	case event.TextView:
		return v.Summary
	case event.Command:
		if v.ExitCode != 0 {
			return "exit " + strconv.Itoa(v.ExitCode)
		}
	case event.Subagent:
		if v.Steps > 0 {
			return count(v.Steps, "step")
		}
	}
	return ""
}

// span is a duration in a few characters.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return strconv.Itoa(int(d.Minutes())) + " min " + strconv.Itoa(int(d.Seconds())%60) + " s"
}
