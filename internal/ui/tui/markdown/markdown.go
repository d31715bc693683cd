// Package markdown shows Markdown in the terminal, also while it still grows.
//
// The words: a block is a piece of the text that is laid out on its own (a paragraph, a row of code lines,
// a part of a table); a block is settled once nothing that follows can change it; the tail is the unsettled
// rest, mostly the paragraph that is being written. A [Stream] takes text in pieces of any size, finds
// blocks line by line, and lays each settled block out once; only the tail is laid out again for every
// frame. goldmark reads the inside of a block (emphasis, links).
//
// It shows GFM: headings, emphasis, code (highlighted), quotes, lists and task lists, tables (fitted to the
// width, or stacked where it is too narrow), rules, links. Pictures are shown as their text and URL, HTML
// and footnotes as the text they are.
//
// Promises:
//
//   - The result depends on the text, not on how it was cut into pieces: a Stream that ended shows
//     the same as [Render]. [Stream.SettleLines] is the exception: where it split a block, a line begins in any width.
//   - Before [Stream.End], half-open marks are shown as they will most likely be: "**bo" as bold.
//   - CPU and memory grow linearly with the text, whatever the text, and the cost of a frame does not grow
//     with it. For that, a line of more than 8 kB is broken, a paragraph of more than 4 kB continues as
//     another one, and the widths of a table's columns follow from its first 32 rows.
//   - A definition of a link that comes late changes the blocks before it that refer to it.
//   - No line is wider than asked. Text cannot bring control characters or links of its own to the
//     terminal: everything is escaped, and only http, https, mailto and file URLs become links, with their
//     host shown where the text does not say it.
package markdown
