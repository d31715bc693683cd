// Package web is the page: a session in the browser.
//
// The words: the page is a few static files, ES modules without a build step. An item is a piece of a transcript (a
// message, a part of a reply, a call), rendered to HTML here, so that the browser needs no parser and every face shows
// the same. A feed turns the events of a session into items; a watch keeps the feed of one session for all pages that
// show it. A change is what a page is sent: put an item, add to a text, drop one.
//
// Promises:
//
//   - Foreign text becomes HTML only in a writer, whose markup is constants of this package. No text brings a tag or
//     an attribute of its own; only http, https and mailto URLs become links. The page turns strings into HTML only
//     by its Trusted Types policy, and only those that came from here.
//   - State is on the server. A page that reconnects gets what it missed, once; one that missed too much, or is new,
//     gets the transcript as it is now, with the reply that is being written.
//   - Any number of pages can watch a session; a slow one delays no other.
package web
