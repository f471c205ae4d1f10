// Package bootstrap writes the user-data with which cloud-init turns a new machine into a node. It
// reads and writes no file.
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

// MaxSize is the maximum size of user-data on EC2, in bytes before base64.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
const MaxSize = 16 << 10

// Architectures are the GOARCH of Kubernetes nodes on clouds. The script finds the machine's with
// uname.
var Architectures = []string{"amd64", "arm64"}

// UserData is the input of the script. Every program on the machine that reaches the cloud's
// metadata can read it, so it must contain no secrets.
type UserData struct {
	// Mirrors are the URLs of the agent by architecture, in the order in which the script tries
	// them.
	Mirrors map[string][]string
	// SHA256 is the sha256 of the agent by architecture, in hex.
	SHA256 map[string]string
	// AgentFile is the content of the agent's own file on the node.
	AgentFile string
	// Proxy is the proxy to the mirrors and the store; zero for none.
	Proxy Proxy
}

//go:embed bootstrap.sh
var script string

// settings is the line of the script that is replaced by the settings.
const settings = "# SETTINGS\n"

// Shell returns the script for /bin/sh, which cloud-init runs once on each instance. The script may
// also run at every boot.
func (u UserData) Shell() (string, error) {
	text, err := u.script()
	if err != nil {
		return "", err
	}
	return bounded(text)
}

// mergeHow makes cloud-init add this part to earlier parts of user-data. By default the lists of a
// part replace those of the parts before it.
// https://cloudinit.readthedocs.io/en/latest/reference/merging.html
const mergeHow = "merge_how:\n- {name: list, settings: [append]}\n" +
	"- {name: dict, settings: [no_replace, recurse_list]}\n"

// CloudConfig returns the same script as cloud-config, to which the user can add more. The script
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

// script returns the script with its settings. Every value is quoted.
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

// check refuses settings that would fail on the machine or have another meaning there.
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
		return fmt.Errorf("%s: no state store is named: add `store: s3://bucket/prefix`, or another store", agentfile.Path)
	case remote && scheme != "file" && own.Pin == "" && len(own.TrustedKeys) == 0 && !own.InsecureUnsigned:
		return fmt.Errorf("%s: no field says which configuration of %s the node trusts, so the node would "+
			"refuse it: add trustedKeys or a pin, or add insecureUnsigned if every user who can write there "+
			"may control the node",
			agentfile.Path, own.Store)
	}
	return nil
}

// checkMirror refuses a URL that is none of a mirror. A password or a signature in it would be
// visible to every program that reaches the metadata, and in process lists.
func checkMirror(mirror string) error {
	const want = "expected http:// or https:// and neither a password nor a query, since others can read user-data: " +
		"https://mirror.example.com/netwright-linux-amd64"
	parsed, err := url.Parse(mirror)
	switch {
	case err != nil:
		// mirror and err may contain a password
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

// Quote returns a text as one word of the shell, whatever it contains.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
