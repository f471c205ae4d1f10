// Package bootstrap writes what a fresh machine runs to become a node: user-data for cloud-init. It
// is pure.
package bootstrap

import (
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/document"
)

// MaxSize is what EC2 takes as user-data, in bytes, before it is encoded in base64.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
const MaxSize = 16 << 10

// Architectures are those that Kubernetes' nodes on clouds have, in GOARCH's words; the script
// knows them by uname.
var Architectures = []string{"amd64", "arm64"}

// UserData is what a machine has to be told. All of it can be read by whatever on the machine
// reaches the cloud's metadata: no secrets.
type UserData struct {
	// Mirrors has the URLs of the agent by architecture, in the order in which they are tried.
	Mirrors map[string][]string
	// SHA256 is what the agent of an architecture must have, in hex.
	SHA256 map[string]string
	// AgentFile is the agent's own file, as it will be on the node.
	AgentFile string
	// Proxy is the way out of the network, for mirrors and store; its zero value is none.
	Proxy Proxy
}

//go:embed bootstrap.sh
var script string

// settings is the line of the script that they stand in the place of.
const settings = "# SETTINGS\n"

// Shell is the script for /bin/sh, which cloud-init runs once on each instance. It may be run at
// every boot.
func (u UserData) Shell() (string, error) {
	text, err := u.script()
	if err != nil {
		return "", err
	}
	return bounded(text)
}

// mergeHow has cloud-init add what is here to what earlier parts of user-data want. By default the
// lists of a part replace those of the parts before it.
// https://cloudinit.readthedocs.io/en/latest/reference/merging.html
const mergeHow = "merge_how:\n- {name: list, settings: [append]}\n" +
	"- {name: dict, settings: [no_replace, recurse_list]}\n"

// CloudConfig is the same script as cloud-config, for whoever has more to say in it. The script
// stays on the node.
func (u UserData) CloudConfig() (string, error) {
	text, err := u.script()
	if err != nil {
		return "", err
	}
	const path = "/etc/netwright/bootstrap.sh"
	var b strings.Builder
	b.WriteString("#cloud-config\n" + mergeHow + "write_files:\n- path: " + path + "\n  permissions: '0755'\n  content: |\n")
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	b.WriteString("runcmd:\n- [" + path + "]\n")
	return bounded(b.String())
}

func bounded(text string) (string, error) {
	if len(text) > MaxSize {
		return "", fmt.Errorf("the user-data has %d bytes, and clouds take %d: name fewer mirrors or shorter ones, "+
			"and keep comments out of the agent's file", len(text), MaxSize)
	}
	return text, nil
}

// script is the script with its settings, every one of them quoted.
func (u UserData) script() (string, error) {
	if err := u.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(u.Proxy.settings())
	fmt.Fprintf(&b, "agent_yaml=%s\nsha256() {\n\tcase $1 in\n", Quote(strings.TrimRight(u.AgentFile, "\n")))
	archs := slices.Sorted(maps.Keys(u.SHA256))
	for _, arch := range archs {
		fmt.Fprintf(&b, "\t%s) echo %s ;;\n", arch, Quote(u.SHA256[arch]))
	}
	b.WriteString("\tesac\n}\nfrom_mirrors() {\n\tcase $1 in\n")
	for _, arch := range archs {
		fmt.Fprintf(&b, "\t%s) download", arch)
		for _, mirror := range u.Mirrors[arch] {
			b.WriteString(" \\\n\t\t" + Quote(mirror))
		}
		b.WriteString(" ;;\n")
	}
	b.WriteString("\tesac\n}\n\n")
	return strings.Replace(script, settings, b.String(), 1), nil
}

// check refuses what the machine could not use, or would use in another sense.
func (u UserData) check() error {
	if err := u.Proxy.check(); err != nil {
		return err
	}
	if len(u.SHA256) == 0 {
		return fmt.Errorf("no sha256 of the agent: nothing is installed unchecked; name one for each architecture, as " +
			"amd64=9f86d081…")
	}
	for _, arch := range slices.Sorted(maps.Keys(u.SHA256)) {
		sum, mirrors := u.SHA256[arch], u.Mirrors[arch]
		if !slices.Contains(Architectures, arch) {
			return fmt.Errorf("sha256 of the agent for %q: expected one of the architectures %s", arch,
				strings.Join(Architectures, ", "))
		}
		if len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
			return fmt.Errorf("sha256 of the agent for %s: %q: expected 64 lower-case hex digits", arch, sum)
		}
		if len(mirrors) == 0 {
			return fmt.Errorf("no mirror has the agent for %s: name at least one URL", arch)
		}
		for _, mirror := range mirrors {
			if err := checkMirror(mirror); err != nil {
				return err
			}
		}
	}
	for i, r := range u.AgentFile {
		if r != '\n' && (r < ' ' || r > '~') {
			line := 1 + strings.Count(u.AgentFile[:i], "\n")
			return fmt.Errorf("%s:%d: %q: user-data takes printable ASCII and no tabs: write it as an escape in a "+
				"quoted text, or leave it out", agentfile.Path, line, r)
		}
	}
	own, diags := agentfile.Decode(document.Source{Path: agentfile.Path, Data: []byte(u.AgentFile)})
	if err := diags.Err(); err != nil {
		return err
	}
	scheme, _, remote := strings.Cut(own.Store, "://")
	switch {
	case own.Store == "":
		return fmt.Errorf("%s: no state store is named: add `store: s3://bucket/prefix`, or what it is", agentfile.Path)
	case remote && scheme != "file" && own.Pin == "" && len(own.TrustedKeys) == 0 && !own.InsecureUnsigned:
		return fmt.Errorf("%s: nothing says which configuration of %s is to be trusted, and the node would refuse it: "+
			"add trustedKeys or a pin, or insecureUnsigned if whoever can write there may rule the node",
			agentfile.Path, own.Store)
	}
	return nil
}

// checkMirror refuses what is no URL of a mirror. A password or a signature would be read by
// whatever reaches the metadata, and stand in process lists.
func checkMirror(mirror string) error {
	const want = "expected http:// or https:// and neither a password nor a query, since others can read user-data: " +
		"https://mirror.example.com/netwright-linux-amd64"
	parsed, err := url.Parse(mirror)
	switch {
	case err != nil:
		// it may hold a password, and so may the error
		return fmt.Errorf("the URL of a mirror does not parse: %s", want)
	case parsed.User != nil || parsed.RawQuery != "":
		return fmt.Errorf("mirror %s://%s%s: it holds a user or a query: %s", parsed.Scheme, parsed.Host, parsed.Path,
			want)
	case parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Host == "",
		strings.ContainsFunc(mirror, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("mirror %q: %s", mirror, want)
	}
	return nil
}

// Quote is a text as one word of the shell, whatever it holds.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
