pub fn longest(text: &str) -> &str {
    let mut best = String::new();
    for w in text.split_whitespace() {
        if w.len() > best.len() {
            best = w;
        }
    }
    &best
}

pub struct Words {
    text: &str,
}

impl Words {
    pub fn new(text: &str) -> Words {
        Words { text }
    }
    pub fn longest(&self) -> &str {
        longest(self.text)
    }
}
