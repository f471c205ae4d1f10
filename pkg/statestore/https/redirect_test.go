package https

import (
	"net/http"
	"testing"
)

// A redirect may spell the store's host in another way, with or without the port of https, and gets
// the token. Another host, another port and plain http are not the store.
//
// The lines that keep it: https.go home, server.
func TestRedirectIsHome(t *testing.T) {
	for _, c := range []struct {
		store, to string
		home      bool
	}{
		{"https://Store.example.com/x", "https://store.example.com/y", true},
		{"https://store.example.com/x", "https://STORE.example.com:443/y", true},
		{"https://store.example.com:443/x", "https://store.example.com/y", true},
		{"https://store.example.com:8443/x", "https://Store.example.com:8443/y", true},
		{"https://[FD00::1]/x", "https://[fd00::1]:443/y", true},
		{"https://store.example.com/x", "https://store.example.com:8443/y", false},
		{"https://store.example.com:8443/x", "https://store.example.com/y", false},
		{"https://store.example.com/x", "https://a.store.example.com/y", false},
		{"https://store.example.com/x", "https://example.com/y", false},
		{"https://store.example.com/x", "http://store.example.com:443/y", false},
	} {
		first, err := http.NewRequest(http.MethodGet, c.store, nil)
		if err != nil {
			t.Fatal(err)
		}
		first.Header.Set("Authorization", "Bearer one")
		next, err := http.NewRequest(http.MethodGet, c.to, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = home(next, []*http.Request{first})
		if token := next.Header.Get("Authorization"); (err == nil) != c.home || (token != "") != c.home {
			t.Errorf("%s to %s: %v, token %q", c.store, c.to, err, token)
		}
	}
}
