package bootstrap

import (
	"fmt"
	"net/url"
	"strings"
)

// Proxy is the HTTP proxy of a machine, for its first boot and for its agent. Requests to a cloud's
// metadata do not use it.
type Proxy struct {
	URL    string // such as http://proxy.example.com:3128
	Except string // hosts, domains and networks that are reached directly, separated by commas
}

// direct are the hosts that are never reached through a proxy: the machine itself and the metadata
// of clouds.
const direct = "localhost,127.0.0.1,::1,169.254.169.254,fd00:ec2::254"

// settings returns the lines of the script that set the proxy for its programs and that write a
// file for the agent's unit. Without a proxy the script removes that file.
func (p Proxy) settings() string {
	if p.URL == "" {
		return "proxy_conf=\n"
	}
	except := direct
	if p.Except != "" {
		except += "," + p.Except
	}
	conf := fmt.Sprintf("# Made by agent user-data.\n[Service]\nEnvironment=\"HTTPS_PROXY=%s\" \"HTTP_PROXY=%s\" "+
		"\"NO_PROXY=%s\"", p.URL, p.URL, except)
	return fmt.Sprintf("export https_proxy=%s http_proxy=%s no_proxy=%s\nproxy_conf=%s\n", Quote(p.URL), Quote(p.URL),
		Quote(except), Quote(conf))
}

// check refuses values that curl, wget, systemd and the agent would not all read in the same way.
func (p Proxy) check() error {
	const want = "expected http:// or https:// with a host, maybe a port, and nothing else; no password, since " +
		"others can read user-data: http://proxy.example.com:3128"
	if p.URL == "" {
		if p.Except != "" {
			return fmt.Errorf("%q must be reached without a proxy, but no proxy is named: name the proxy, or "+
				"leave this out", p.Except)
		}
		return nil
	}
	parsed, err := url.Parse(p.URL)
	switch {
	case err != nil:
		return fmt.Errorf("the URL of the proxy does not parse: %s", want) // it may contain a password
	case parsed.User != nil:
		return fmt.Errorf("proxy %s://%s: it holds a user: %s", parsed.Scheme, parsed.Host, want)
	case parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Hostname() == "",
		p.URL != parsed.Scheme+"://"+parsed.Host, !safeText(parsed.Host, "[]"):
		return fmt.Errorf("proxy %q: %s", p.URL, want)
	case !safeText(p.Except, ",/*"):
		return fmt.Errorf("%q must be reached without a proxy: expected hosts, domains and networks with "+
			"commas between, such as 10.0.0.0/8,.internal.example.com", p.Except)
	}
	return nil
}

// safeText reports whether a text has only characters of names and addresses, and those in more.
func safeText(s, more string) bool {
	const names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:"
	return strings.Trim(s, names+more) == ""
}
