// Package markdown shows Markdown in the terminal.
package markdown
