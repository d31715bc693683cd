#!/bin/bash
set -e
cd /app
cat > task.py <<'END'
PAIRS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
         (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def to_roman(n):
    if not isinstance(n, int) or not 1 <= n <= 3999:
        raise ValueError(n)
    out = ""
    for value, letters in PAIRS:
        while n >= value:
            out += letters
            n -= value
    return out


def from_roman(s):
    n, rest = 0, s
    for value, letters in PAIRS:
        while rest.startswith(letters):
            n += value
            rest = rest[len(letters):]
    if rest or not 1 <= n <= 3999 or to_roman(n) != s:
        raise ValueError(s)
    return n
END
