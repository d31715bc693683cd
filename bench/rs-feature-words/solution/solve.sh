#!/bin/bash
set -e
cd /app
cat > task.rs <<'END'
use std::collections::HashMap;

pub fn words(text: &str) -> Vec<(String, usize)> {
    let mut n: HashMap<String, usize> = HashMap::new();
    for w in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        *n.entry(w.to_lowercase()).or_default() += 1;
    }
    let mut out: Vec<_> = n.into_iter().collect();
    out.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    out
}
END
