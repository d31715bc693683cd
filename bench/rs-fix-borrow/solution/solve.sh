#!/bin/bash
set -e
cd /app
cat > task.rs <<'END'
pub fn longest(text: &str) -> &str {
    let mut best = "";
    for w in text.split_whitespace() {
        if w.len() > best.len() {
            best = w;
        }
    }
    best
}

pub struct Words<'a> {
    text: &'a str,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a str) -> Words<'a> {
        Words { text }
    }
    pub fn longest(&self) -> &'a str {
        longest(self.text)
    }
}
END
