package bootstrap

import (
	"fmt"
	"net/url"
	"strings"
)

// Proxy is an HTTP proxy that a machine has to use: while it becomes a node, and its agent from
// then on. A cloud's metadata is never asked through it.
type Proxy struct {
	URL    string // such as http://proxy.example.com:3128
	Except string // hosts, domains and networks that are reached without it, with commas between
}

// direct are never reached through a proxy: the machine itself, and clouds' metadata.
const direct = "localhost,127.0.0.1,::1,169.254.169.254,fd00:ec2::254"

// settings are the lines of the script: for the programs that it runs, and a file for the agent's
// unit. Without a proxy that file goes.
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

// check refuses what curl, wget, systemd and the agent would not all read alike.
func (p Proxy) check() error {
	const want = "expected http:// or https:// with a host, maybe a port, and nothing else; no password, since others " +
		"can read user-data: http://proxy.example.com:3128"
	if p.URL == "" {
		if p.Except != "" {
			return fmt.Errorf("%q is to be reached without a proxy, and there is none: name the proxy, or leave this "+
				"out", p.Except)
		}
		return nil
	}
	parsed, err := url.Parse(p.URL)
	switch {
	case err != nil:
		return fmt.Errorf("the URL of the proxy does not parse: %s", want) // it may hold a password
	case parsed.User != nil:
		return fmt.Errorf("proxy %s://%s: it holds a user: %s", parsed.Scheme, parsed.Host, want)
	case parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Hostname() == "",
		p.URL != parsed.Scheme+"://"+parsed.Host, !safeText(parsed.Host, "[]"):
		return fmt.Errorf("proxy %q: %s", p.URL, want)
	case !safeText(p.Except, ",/*"):
		return fmt.Errorf("%q is to be reached without a proxy: expected hosts, domains and networks with commas "+
			"between, such as 10.0.0.0/8,.internal.example.com", p.Except)
	}
	return nil
}

// safeText says that a text has only what names and addresses have, and what else is allowed.
func safeText(s, more string) bool {
	const names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:"
	return strings.Trim(s, names+more) == ""
}
