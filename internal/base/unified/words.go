package unified

import (
	"unicode"
	"unicode/utf8"
)

// Words finds for each line of a diff the words that differ from the line it replaces, or that replaces
// it: the first removed line is paired with the first added one behind it, and so on. Lines that have
// little in common are not paired.
func Words(list []Line) [][][2]int {
	out := make([][][2]int, len(list))
	for i := 0; i < len(list); {
		if list[i].Sign != '-' {
			i++
			continue
		}
		from := i
		for i < len(list) && list[i].Sign == '-' {
			i++
		}
		mid := i
		for i < len(list) && list[i].Sign == '+' {
			i++
		}
		for k := 0; from+k < mid && mid+k < i; k++ {
			out[from+k], out[mid+k] = changed(list[from+k].Text, list[mid+k].Text)
		}
	}
	return out
}

const (
	mostTokens = 200 // of a line that is compared word by word
	alike      = 0.5 // of the bytes of a line, but for spaces, must be the same, or the marks would be noise
)

// changed finds the ranges of bytes in which two lines differ, by words.
func changed(a, b string) (inA, inB [][2]int) {
	x, y := tokens(a), tokens(b)
	if len(x) == 0 || len(y) == 0 || len(x) > mostTokens || len(y) > mostTokens {
		return nil, nil
	}
	keepX, keepY := common(x, y)
	same, all := 0, weight(x)+weight(y)
	for i, k := range keepX {
		if k && x[i][0] != ' ' {
			same += len(x[i])
		}
	}
	if float64(2*same) < alike*float64(all) || a == b {
		return nil, nil
	}
	if 2*same < all { // words differ, so spaces do not matter
		keepSpaces(x, keepX)
		keepSpaces(y, keepY)
	}
	return ranges(x, keepX), ranges(y, keepY)
}

// weight is the number of bytes that are not spaces.
func weight(tokens []string) int {
	n := 0
	for _, t := range tokens {
		if t[0] != ' ' {
			n += len(t)
		}
	}
	return n
}

// keepSpaces takes spaces that are between words that were kept as kept, too.
func keepSpaces(tokens []string, keep []bool) {
	for i, t := range tokens {
		if t[0] == ' ' && (i == 0 || keep[i-1]) && (i+1 == len(tokens) || keep[i+1]) {
			keep[i] = true
		}
	}
}

// tokens cuts a line into words, runs of spaces, and other characters alone.
func tokens(s string) []string {
	var out []string
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if c := class(r); c != 0 {
			for n < len(s) {
				r, m := utf8.DecodeRuneInString(s[n:])
				if class(r) != c {
					break
				}
				n += m
			}
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func class(r rune) int {
	switch {
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return 1
	case r == ' ':
		return 2
	}
	return 0
}

// common marks the tokens of a longest common subsequence.
func common(x, y []string) (inX, inY []bool) {
	w := len(y) + 1
	length := make([]int32, (len(x)+1)*w)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				length[i*w+j] = length[(i+1)*w+j+1] + int32(len(x[i]))
			} else {
				length[i*w+j] = max(length[(i+1)*w+j], length[i*w+j+1])
			}
		}
	}
	inX, inY = make([]bool, len(x)), make([]bool, len(y))
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			inX[i], inY[j] = true, true
			i, j = i+1, j+1
		case length[(i+1)*w+j] >= length[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return inX, inY
}

// ranges joins the tokens that were not kept, over single spaces between them.
func ranges(tokens []string, keep []bool) [][2]int {
	var out [][2]int
	at := 0
	for i, t := range tokens {
		if !keep[i] {
			if n := len(out); n > 0 && (out[n-1][1] == at || out[n-1][1] == at-1 && tokens[i-1] == " ") {
				out[n-1][1] = at + len(t)
			} else {
				out = append(out, [2]int{at, at + len(t)})
			}
		}
		at += len(t)
	}
	return out
}
