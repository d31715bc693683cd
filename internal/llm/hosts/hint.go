package hosts

import "strings"

// Offered lists the hosts that the set-up offers.
func Offered() []Host {
	var out []Host
	for _, h := range Table {
		if h.Login != nil {
			out = append(out, h)
		}
	}
	return out
}

// KeyHint returns the ways to configure a model on one line: "export A_API_KEY or B_API_KEY, or B_BASE_URL for a local
// server".
func KeyHint() string {
	var keys []string
	server := ""
	for _, h := range Offered() {
		keys = append(keys, h.Variable("apiKey"))
		if h.Login.Server != "" {
			server += ", or " + h.Variable("apiBase") + " for a local server"
		}
	}
	return "export " + strings.Join(keys, " or ") + server
}

// KeyWays lists the ways to configure a model: the shell command that sets the key, and its effect ("use Claude").
func KeyWays() [][2]string {
	var out [][2]string
	for _, h := range Offered() {
		out = append(out, [2]string{"export " + h.Variable("apiKey") + "=" + h.Login.KeyForm, h.Login.Use})
	}
	return out
}

// Variables returns the environment variables of a setting ("apiKey") for all offered hosts, separated by commas.
func Variables(setting string) string {
	var out []string
	for _, h := range Offered() {
		if v := h.Variable(setting); v != "" {
			out = append(out, v)
		}
	}
	return strings.Join(out, ", ")
}
