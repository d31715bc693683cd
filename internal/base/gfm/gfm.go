// Package gfm reads Markdown, also while it still grows.
//
// The words: a leaf is a block of text (a paragraph, a piece of code, a part of a table); its frame is the quotes and
// list items that it lies in. [Blocks] takes a text line by line and finds its leaves; [Links] reads the inside of a
// leaf by goldmark (emphasis, code, links), which cannot go on where it stopped and so does not read blocks here. A
// face keeps what it needs with each leaf.
//
// Promises: each line is read once, and the time is linear in the text, whatever the text: for that, a paragraph of
// more than 4 kB and code of more than 64 lines go on in another leaf. Text is returned as it came: escaping it is up
// to the face that shows it.
package gfm
