package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/bootstrap"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// The values of --format of user-data.
const (
	formatShell       = "shell"
	formatCloudConfig = "cloud-config"
)

// userData has the flags of user-data.
type userData struct {
	*cli.Flags
	format      string
	urls, sums  []string
	sumsFile    string
	pin         string
	trustedKeys []string
	proxy       bootstrap.Proxy
}

func userDataCommand(f *cli.Flags) *cobra.Command {
	u := &userData{Flags: f}
	cmd := &cobra.Command{
		Use:   "user-data",
		Short: "Print cloud-init's user-data, which makes a fresh machine a node",
		Long: `user-data prints what a new machine runs at its first boot. The machine fetches the
agent for its architecture from the mirrors, in order, and checks its sha256. It writes
` + defaultConf + `, then installs and starts the agent.

The agent's own file has the values of the flags, or is the file that --conf names.
Every program that reaches the cloud's metadata service can read user-data, so put no
secret there. Clouds accept at most 16 KiB.`,
		Example: `  agent user-data --url 'https://mirror.example.com/v1.0.0/netwright-linux-{arch}' --sums SHA256SUMS \
      --store s3://config/fleet --cluster demo.example.com --node-group nodes --trusted-key RWQ…`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := u.userData()
			if err != nil {
				return err
			}
			fmt.Fprint(f.Out, text)
			return nil
		},
	}
	l := cmd.Flags()
	l.StringVar(&u.format, "format", formatShell, "shell or cloud-config")
	l.StringArrayVar(&u.urls, "url", nil,
		"a mirror's URL of the agent, {arch} in the place of amd64 or arm64; several are tried in order")
	l.StringArrayVar(&u.sums, "sha256", nil, "the agent's sha256: amd64=HEX; once for each architecture")
	l.StringVar(&u.sumsFile, "sums", "", "the same from a file of sha256sum, by the names that the URLs end in")
	l.StringVar(&u.pin, "pin", "", "sha256 of the one manifest that the node accepts")
	l.StringArrayVar(&u.trustedKeys, "trusted-key", nil, "a minisign public key that may have signed the manifest")
	l.StringVar(&u.proxy.URL, "proxy", "",
		"the HTTP proxy that machine and agent use, such as http://proxy.example.com:3128")
	l.StringVar(&u.proxy.Except, "no-proxy", "",
		"hosts and ranges that are reached without the proxy, such as 10.0.0.0/8,.internal.example.com")
	addTrust(cmd, f)
	complete(cmd, "format", formatShell, formatCloudConfig)
	return cmd
}

// userData returns the text of the user-data.
func (u *userData) userData() (string, error) {
	sums, err := u.sha256()
	if err != nil {
		return "", err
	}
	out := bootstrap.UserData{SHA256: sums, Proxy: u.proxy}
	if out.Mirrors, err = bootstrap.MirrorsOf(u.urls, slices.Sorted(maps.Keys(sums))); err != nil {
		return "", err
	}
	if out.AgentFile, err = u.agentFile(); err != nil {
		return "", err
	}
	switch u.format {
	case formatShell:
		return out.Shell()
	case formatCloudConfig:
		return out.CloudConfig()
	}
	return "", problem.Usage.Errorf("--format %q: expected %s or %s", u.format, formatShell, formatCloudConfig)
}

// sha256 returns the expected sha256 of the program by architecture.
func (u *userData) sha256() (map[string]string, error) {
	if len(u.urls) == 0 {
		return nil, errors.New("no mirror: name with --url where the agent can be had, as --url " +
			"'https://mirror.example.com/netwright-linux-{arch}'")
	}
	switch {
	case u.sumsFile != "" && len(u.sums) > 0:
		return nil, problem.Usage.Errorf("--sums and --sha256 exclude each other: both say what the agent must have")
	case u.sumsFile != "":
		content, err := cli.ReadFile(u.sumsFile)
		if err != nil {
			return nil, fmt.Errorf("read the release's sums: %w", err)
		}
		return bootstrap.Sums(u.sumsFile, content, u.urls)
	}
	out := map[string]string{}
	for _, said := range u.sums {
		arch, sum, ok := strings.Cut(said, "=")
		if !ok || out[arch] != "" {
			return nil, problem.Usage.Errorf("--sha256 %q: expected amd64=HEX or arm64=HEX, each once", said)
		}
		out[arch] = sum
	}
	if len(out) == 0 {
		return nil, errors.New("no sha256 of the agent, and nothing is installed unchecked: name it with --sha256 " +
			"amd64=HEX, or a file of sha256sum with --sums")
	}
	return out, nil
}

// agentFile returns the agent's own file for the node: the file of --conf as it is, or one made
// from the flags.
func (u *userData) agentFile() (string, error) {
	if u.Conf != "" {
		if u.Store != "" || u.Cluster != "" || u.NodeGroup != "" || u.Node != "" || u.pin != "" ||
			len(u.trustedKeys) > 0 || u.Trust.Unsigned {
			return "",
				problem.Usage.Errorf("--conf and flags that say what is in it exclude each other: write all of " +
					"it into the file")
		}
		content, err := cli.ReadFile(u.Conf)
		if err != nil {
			return "", fmt.Errorf("read the agent's file: %w", err)
		}
		return document.LineEnds(string(content)), nil
	}
	if u.Store == "" {
		return "",
			errors.New("no state store: say with --store, or in the file of --conf, where the node's configuration is")
	}
	var b strings.Builder
	b.WriteString("# Made by agent user-data.\n")
	for _, field := range []struct{ name, value string }{
		{"store", u.Store}, {"cluster", u.Cluster}, {"nodeGroup", u.NodeGroup}, {"node", u.Node},
		{"pin", u.pin},
	} {
		if field.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", field.name, strconv.QuoteToASCII(field.value))
		}
	}
	if len(u.trustedKeys) > 0 {
		b.WriteString("trustedKeys:\n")
	}
	for _, key := range u.trustedKeys {
		fmt.Fprintf(&b, "- %s\n", strconv.QuoteToASCII(key))
	}
	if u.Trust.Unsigned {
		b.WriteString("insecureUnsigned: true\n")
	}
	return b.String(), nil
}
