package web

import (
	"strings"
	"testing"
)

var long = strings.TrimSpace(strings.Repeat("Many words of a text. ", 15))

// A reader sees what the page is about, and not what stands on each page of the site.
func TestTheMainTextIsChosenAsAReaderWould(t *testing.T) {
	const around = "<header>Site<nav>Menu</nav></header>"
	for name, c := range map[string]struct{ page, want string }{
		"main": {around + "<div><main><h1>A</h1>" + long +
			"</main></div><aside>Ads</aside><footer>Legal</footer>", "# A\n\n" + long},
		"a short main": {around + "<main>Moved.</main><footer>Legal</footer>", "Moved."},
		"role=main":    {around + `<div role="main"><h1>A</h1>` + long + "</div><p>Related</p>", "# A\n\n" + long},
		"an article": {around + "<article><header><h1>A</h1></header>" + long +
			"<aside>note</aside></article><p>Related</p>", "# A\n\n" + long + "\n\nnote"},
		"a main of some length": {"<main>" + long + "</main><div>" + strings.Repeat("Related. ", 100) + "</div>", long},
		"several articles": {around + "<article>First " + long + "</article><p>ad</p><div><article>Second " + long +
			"</article></div>", "First " + long + "\n\nSecond " + long},
		"articles in an article": {"<article>" + long + "<article>comment</article></article>", long + "\n\ncomment"},
		"a teaser beside the text": {
			"<div>" + strings.Repeat(long+" ", 5) + "</div><article>teaser</article>",
			strings.TrimSpace(strings.Repeat(long+" ", 5)) + "\n\nteaser",
		},
		"an article in an aside": {"<div>" + long + "</div><aside><article>" + long + long + "</article></aside>", long},
		"a main that is hidden":  {`<main hidden>` + long + `</main><div>The text</div>`, "The text"},
		"a main without text":    {`<main></main><div>The text</div>`, "The text"},
		"no mark":                {around + "<div>text</div><aside>Ads</aside><footer>Legal</footer>", "text"},
		"roles":                  {`<div role="banner">no</div><div role="navigation">no</div><div role="search">no</div><p>text<div role="complementary">no</div><div role="contentinfo">no</div>`, "text"},
		"the headline above":     {"<header>Site <h1>The headline</h1></header><p>text", "# The headline\n\ntext"},
		"parts of a section": {
			"<section><header>Head</header>text<aside>note</aside><footer>foot</footer></section>",
			"Head\n\ntext\n\nnote\n\nfoot",
		},
		"a mark that is far too small": {
			"<main>tiny</main><div>" + long + "</div>", "tiny\n\n" + long,
		},
	} {
		if _, got := Markdown([]byte("<body>"+c.page+"</body>"), "https://x.org"); got != c.want+"\n" {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// What a good reader leaves out is better than nothing.
func TestAPageWithTextIsNeverEmpty(t *testing.T) {
	for page, want := range map[string]string{
		"<header>only a header</header>":                                   "only a header",
		"<aside>only <b>an</b> aside</aside>":                              "only **an** aside",
		`<nav><ul><li><a href="/x">only</a><li>a menu</ul></nav>`:          "- [only](https://x.org/x)\n- a menu",
		"<div id=app></div><noscript>Turn JavaScript on.</noscript>":       "Turn JavaScript on.",
		"<form><button>only a button</button></form>":                      "only a button",
		"<dialog open><p>only a dialog</p></dialog><script>x()</script>":   "only a dialog",
		`<body style="opacity:0">shown by a script</body>`:                 "shown by a script",
		`<div hidden>never</div><template>never</template><script>never()`: "",
		"": "",
	} {
		if _, got := Markdown([]byte(page), "https://x.org"); got != strings.TrimPrefix(want+"\n", "\n") {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

// A page that nests what is read several times, or lists in lists, costs no more than a large page does.
func TestAHostilePageIsNotReadForever(t *testing.T) {
	deep := "<p>first</p>" + strings.Repeat("<ul><div>", 140) + strings.Repeat("<p>word", 50_000) + "<li>x"
	if _, got := Markdown([]byte(deep), "https://x.org"); !strings.Contains(got, "first") || len(got) > 15*len(deep) {
		t.Errorf("%d bytes became %d", len(deep), len(got))
	}
	Markdown([]byte(strings.Repeat("<table>", 250)+strings.Repeat("<p>x", 300_000)), "") // took minutes
	root := parseTree([]byte("<div>a<p>b</div>"))
	*root.work = 0
	if _, got := markdown(root, ""); strings.TrimSpace(got) != unread {
		t.Errorf("%q was read without work left", got)
	}
}
