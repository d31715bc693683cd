package task

// Ints keeps the numbers for which f is true.
func Ints(v []int, f func(int) bool) []int {
	var out []int
	for _, x := range v {
		if f(x) {
			out = append(out, x)
		}
	}
	return out
}

// Strings keeps the texts for which f is true.
func Strings(v []string, f func(string) bool) []string {
	var out []string
	for _, x := range v {
		if f(x) {
			out = append(out, x)
		}
	}
	return out
}

// Floats keeps the numbers for which f is true.
func Floats(v []float64, f func(float64) bool) []float64 {
	var out []float64
	for _, x := range v {
		if f(x) {
			out = append(out, x)
		}
	}
	return out
}
