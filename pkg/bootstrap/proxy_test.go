package bootstrap

import (
	"strings"
	"testing"
)

func TestProxy(t *testing.T) {
	u := example()
	u.Proxy = Proxy{"http://proxy.example.com:3128", "10.0.0.0/8,.internal.example.com"}
	text, err := u.Shell()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"export https_proxy='http://proxy.example.com:3128' http_proxy='http://proxy.example.com:3128' no_proxy='localhost,127.0.0.1,::1,169.254.169.254,",
		`Environment="HTTPS_PROXY=http://proxy.example.com:3128" "HTTP_PROXY=http://proxy.example.com:3128" "NO_PROXY=localhost,`,
		"10.0.0.0/8,.internal.example.com",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	for bad, want := range map[Proxy]string{
		{"http://me:hunter2@proxy:3128", ""}:         "it holds a user",
		{"http://me:hunter2@pro xy:3128", ""}:        "does not parse",
		{"socks5://proxy:1080", ""}:                  "expected http://",
		{"http://proxy:3128/path", ""}:               "expected http://",
		{"http://$(id)", ""}:                         "expected http://",
		{"http://proxy%41:1", ""}:                    "does not parse",
		{"", "10.0.0.0/8"}:                           "but no proxy is named",
		{"http://proxy", "a b"}:                      "with commas between",
		{"http://proxy", "a\"\nExecStartPre=/bin/x"}: "with commas between",
		{"http://[fd00::1]:3128", "%n"}:              "with commas between",
	} {
		u.Proxy = bad
		if _, err := u.Shell(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
	}
}
