package web

import (
	"strings"
	"testing"
)

// ASP.NET wraps each page in a form.
func TestAPageInAFormIsRead(t *testing.T) {
	const page = `<body><form id="aspnetForm" method="post" action="./x.aspx"><input type="hidden" name="__VIEWSTATE" value="junk"><h1>Title</h1>
<label>Name</label><input value="typed"><select><option>Choice</option></select><textarea>Area</textarea><button>Send</button>
<table><form><tr><td>a</td><td>b</td></tr></form></table><p>The text.</p></form></body>`
	_, got := Markdown([]byte(page), "https://x.org")
	if want := "# Title\n\nName\n\n| a | b |\n| --- | --- |\n\nThe text.\n"; got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

func TestCellsOfTablesKeepLinksAndCode(t *testing.T) {
	for page, want := range map[string]string{
		`<table><caption>The <b>caption</b></caption><tr><th>Name<th>Use<tr><td><a href="/x"><code>a|b</code></a><td><code>go  run</code> and <b>bold</b></table>`: "The **caption**\n\n" +
			"| Name | Use |\n| --- | --- |\n| [`a\\|b`](https://x.org/x) | `go run` and **bold** |\n",
		`<table><tr><td>one<br>two<td><p>three</p><p>four</p></table>`: "| one<br>two | three<br>four |\n| --- | --- |\n",
		"<table><tr><td><ul><li>a<li><a href=/b>b</a></ul><td><pre>x := 1\n  y()\n</pre></table>": "| - a<br>" +
			"- [b](https://x.org/b) | `x := 1`<br>`  y()` |\n| --- | --- |\n",
		`<table><tr><td>a<td hidden>no<td>b<tr style="display:none"><td>c<td>d</table>`: "| a | b |\n| --- | --- |\n",
		`<blockquote><table><tr><td>a<td>b<br>c</table></blockquote>`:                   "> | a | b<br>c |\n> | --- | --- |\n",
		`<table><tr><td><table><tr><td>a<td>b</table><td>right</table>`:                 "| a | b |\n| --- | --- |\n\nright\n",
		`<table role="presentation"><tr><td>left<td>right</table>`:                      "left\nright\n",
		`<table><tr><td><ul><li>menu</ul><td><h1>Head</h1><p>text</table>`:              "- menu\n\n# Head\n\ntext\n",
	} {
		if _, got := Markdown([]byte(page), "https://x.org"); got != want {
			t.Errorf("%s:\n%q\nwant\n%q", page, got, want)
		}
	}
}

func TestNoTextIsLostOrRunTogether(t *testing.T) {
	for page, want := range map[string]string{
		`<ul>before<li>a<ul><li>b</ul><ul><li>c</ul></ul>`:                    "before\n- a\n  - b\n  - c\n",
		`<ul><div><li>a</li></div><li>b</ul>`:                                 "- a\n- b\n",
		`<ul><li>a</li><ul><li>b</ul><li>c</ul>`:                              "- a\n  - b\n- c\n",
		`<a href="/x"><h3>Head</h3><p>text</p></a>`:                           "[Head text](https://x.org/x)\n",
		`<a href="/x"><code>f()</code></a>`:                                   "[`f()`](https://x.org/x)\n",
		`<h3><button>A question?</button></h3><p>Its answer.`:                 "### A question?\n\nIts answer.\n",
		"<pre><div>one</div><div>  two</div></pre>":                           "```\none\n  two\n```\n",
		"<pre><div>one\n</div><div>two\n</div></pre>":                         "```\none\ntwo\n```\n",
		`<p>` + strings.Repeat("<b>", 5) + "deep" + strings.Repeat("</b>", 5): "**deep**\n",
	} {
		if _, got := Markdown([]byte(page), "https://x.org"); got != want {
			t.Errorf("%s:\n%q\nwant\n%q", page, got, want)
		}
	}
}
