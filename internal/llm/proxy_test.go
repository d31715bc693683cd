package llm

import (
	"net/http"
	"testing"
)

func TestAllProxyCountsWhereNoVariableOfTheSchemeIsSet(t *testing.T) {
	env := map[string]string{"all_proxy": "socks5h://127.0.0.1:1080", "NO_PROXY": "near.example"}
	proxy := fromEnvironment(func(name string) string { return env[name] })
	for address, want := range map[string]string{
		"https://api.example/v1": "socks5h://127.0.0.1:1080", "https://near.example/v1": "", "http://localhost:1/": "",
	} {
		req, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if u, err := proxy(req); err != nil {
			t.Error(err)
		} else if u != nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("%s goes by way of %q, want %q", address, got, want)
		}
	}
}
