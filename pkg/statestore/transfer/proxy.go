package transfer

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// metadata are the addresses at which clouds serve a machine's metadata and credentials. Through a
// proxy the machine would get those of the proxy.
var metadata = []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23")}

// Proxy returns the proxy for a request from HTTPS_PROXY, HTTP_PROXY and NO_PROXY. It returns none
// for a cloud's metadata.
func Proxy(r *http.Request) (*url.URL, error) {
	if at, err := netip.ParseAddr(r.URL.Hostname()); err == nil {
		if slices.Contains(metadata, at) {
			return nil, nil
		}
	}
	return http.ProxyFromEnvironment(r)
}

// badProxy returns the name of a variable that shall name a proxy and is not the URL of one; "" if
// there is none. Package net/http uses no proxy then, or takes a part of the password for the host
// (golang.org/x/net/http/httpproxy, parseProxy).
func badProxy() string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		if !strings.Contains(value, "://") {
			value = "http://" + value
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
			return name
		}
	}
	return ""
}
