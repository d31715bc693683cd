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

// KeyHint names the ways to a model in one line: "export A_API_KEY or B_API_KEY, or B_BASE_URL for a local server".
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

// KeyWays lists the ways to a model: the command that sets the key, with the form of a key, and its use.
func KeyWays() [][2]string {
	var out [][2]string
	for _, h := range Offered() {
		out = append(out, [2]string{"export " + h.Variable("apiKey") + "=" + h.Login.KeyForm, h.Login.Use})
	}
	return out
}

// Variables lists the variables of a setting of the hosts that the set-up offers, with commas.
func Variables(setting string) string {
	var out []string
	for _, h := range Offered() {
		if v := h.Variable(setting); v != "" {
			out = append(out, v)
		}
	}
	return strings.Join(out, ", ")
}
