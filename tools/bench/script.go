package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// dataFile is the file that the steps read, search and edit: 10 kB.
func dataFile() string {
	lines := make([]string, 200)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %03d: plain filler text to make a line of text\n", i)
		if i%40 == 7 {
			lines[i] = fmt.Sprintf("line %03d: the needle is hidden in this line of text\n", i)
		}
	}
	lines[100] = "counter = 0;\n"
	return strings.Join(lines, "")
}

// stepScript has n calls: read, search, command and edit in turn, all of one file, or each four of another one. Replies
// go by arrival, so that a conversation that is compacted on its way continues.
func stepScript(n int, oneFile bool) *llmtest.Script {
	s := &llmtest.Script{Order: "arrival"}
	path, count := "${WORKDIR}/data.txt", 0
	for i := range n {
		if !oneFile && i%4 == 0 {
			path, count = fmt.Sprintf("${WORKDIR}/data-%d.txt", i/4), 0
		}
		s.Replies = append(s.Replies, llmtest.Say([]llmtest.Part{
			do("read", "path", path),
			do("grep", "pattern", "needle", "path", path),
			do("bash", "command", fmt.Sprintf("echo turn-%d", i)),
			do("edit", "path", path,
				"old", fmt.Sprintf("counter = %d;", count), "new", fmt.Sprintf("counter = %d;", count+1)),
		}[i%4]))
		if i%4 == 3 {
			count++
		}
	}
	return s
}

// do is a call of the tool that an agent has for an action, with the names and values of its input.
func do(action string, input ...string) llmtest.Part {
	fields := map[string]string{}
	for i := 0; i < len(input); i += 2 {
		fields[input[i]] = input[i+1]
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // a map of strings is JSON
	}
	return llmtest.Part{Do: action, Input: b}
}

// streamScript answers two prompts with 200 kB and 40 kB of Markdown, in pieces of 20 characters, 1 ms apart.
func streamScript() *llmtest.Script {
	long, short := llmtest.Say(llmtest.Text(markdown(200_000, 7))), llmtest.Say(llmtest.Text(markdown(40_000, 8)))
	return &llmtest.Script{
		Replies: []llmtest.Reply{long, short}, Chunk: 20, Gap: llmtest.Duration(time.Millisecond),
	}
}

// section is one of the sections of a reply: w is a word, s a sentence, n a number.
const section = "## n. w w\n\ns s s s\n\n- s\n  - s\n- s\n  - s\n\n```go\n// w is a w.\nfunc w(i int) string {\n" +
	"\treturn \"w\" + strconv.Itoa(i)\n}\n```\n\ns s s\n\n" +
	"| w | w | w |\n|---|---:|:---:|\n| `w` | n | w |\n| `w` | n | w |\n\n"

// placeholders splits a section into its letters that stand alone and the text between them.
var placeholders = regexp.MustCompile(`\b[wsn]\b|[A-Za-z]+|[^A-Za-z]+`)

// markdown is text of about that size, the same for the same seed. It is ASCII and does not repeat itself, since some
// agents stop a model that does.
func markdown(size int, seed int64) string {
	r := rand.New(rand.NewSource(seed))
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo za bre cla dro")
	word := func() string {
		w := ""
		for range 1 + r.Intn(4) {
			w += syllables[r.Intn(len(syllables))]
		}
		return w
	}
	sentence := func() string {
		words := make([]string, 7+r.Intn(15))
		for i := range words {
			form := []string{"%s", "%s", "%s", "%s", "%s", "%s", "%s", "**%s**", "*%s*", "`%s()`"}[r.Intn(10)]
			words[i] = fmt.Sprintf(form, word())
		}
		return strings.Join(words, " ") + "."
	}
	fills := map[string]func() string{
		"w": word, "s": sentence, "n": func() string { return fmt.Sprint(r.Intn(9999)) },
	}
	var b strings.Builder
	for b.Len() < size {
		for _, piece := range placeholders.FindAllString(section, -1) {
			if fill := fills[piece]; fill != nil {
				piece = fill()
			}
			b.WriteString(piece)
		}
	}
	return b.String()
}
