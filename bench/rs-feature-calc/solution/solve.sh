#!/bin/bash
set -e
cd /app
cat > task.rs <<'END'
struct Parser<'a> {
    s: &'a [u8],
    i: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> u8 {
        while self.i < self.s.len() && self.s[self.i] == b' ' {
            self.i += 1;
        }
        *self.s.get(self.i).unwrap_or(&0)
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut v = self.product()?;
        loop {
            match self.peek() {
                b'+' => { self.i += 1; v += self.product()? }
                b'-' => { self.i += 1; v -= self.product()? }
                _ => return Ok(v),
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut v = self.atom()?;
        loop {
            match self.peek() {
                b'*' => { self.i += 1; v *= self.atom()? }
                b'/' => {
                    self.i += 1;
                    let d = self.atom()?;
                    if d == 0.0 {
                        return Err("division by zero".into());
                    }
                    v /= d
                }
                _ => return Ok(v),
            }
        }
    }

    fn atom(&mut self) -> Result<f64, String> {
        match self.peek() {
            b'-' => { self.i += 1; Ok(-self.atom()?) }
            b'(' => {
                self.i += 1;
                let v = self.sum()?;
                if self.peek() != b')' {
                    return Err("no )".into());
                }
                self.i += 1;
                Ok(v)
            }
            _ => {
                let from = self.i;
                while self.i < self.s.len() && (self.s[self.i].is_ascii_digit() || self.s[self.i] == b'.') {
                    self.i += 1;
                }
                std::str::from_utf8(&self.s[from..self.i]).unwrap().parse().map_err(|_| "no number".to_string())
            }
        }
    }
}

pub fn eval(text: &str) -> Result<f64, String> {
    let mut p = Parser { s: text.as_bytes(), i: 0 };
    let v = p.sum()?;
    if p.peek() != 0 {
        return Err("more text".into());
    }
    Ok(v)
}
END
