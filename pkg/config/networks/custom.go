package networks

import (
	"cmp"
	"fmt"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// Custom is a network that this agent does not know. Documents declare it in the terms in which the
// agent knows the others: what it needs on a node, who writes its conf, how to see that it works,
// and what it leaves behind. The lists of a later document replace those of an earlier one.
type Custom struct {
	// Name: Sets a name that tells the network from another declared network. A change of the name
	// is a switch. The default is the file name of the conf.
	Name string `json:"name,omitempty"`
	// Title: Describes the network in one line, for lists.
	Title string `json:"title"`
	// Docs: Sets the URL of the network's documentation.
	Docs string `json:"docs,omitempty"`
	// First: Sets the first release that the network runs with. Without it, any earlier release
	// counts.
	First values.Version `json:"first"`
	// Last: Sets the last release that the network runs with. Without it, any later release counts.
	Last values.Version `json:"last"`
	// Conf: Says who writes the CNI conf, and what it contains.
	Conf CustomConf `json:"conf"`
	// Plugins: Lists programs that the node gets before the network comes.
	Plugins []CustomPlugin `json:"plugins,omitempty"`
	// Modules: Lists kernel modules that the agent loads now and at each boot.
	Modules []CustomModule `json:"modules,omitempty"`
	// Sysctls: Lists kernel parameters, besides forwarding, which every network has by default.
	Sysctls []CustomSysctl `json:"sysctls,omitempty"`
	// Mounts: Lists file systems that the network's pods expect.
	Mounts []CustomMount `json:"mounts,omitempty"`
	// Packages: Lists packages of the distribution that the network needs. The agent names them in
	// a note, and does not install them.
	Packages []CustomPackage `json:"packages,omitempty"`
	// Certificates: Lists client identities of the store's pki that the node gets.
	Certificates []CustomCertificate `json:"certificates,omitempty"`
	// Kubeconfig: Says in words where the network's kubeconfig is and who writes it.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Ports: Lists ports and protocols that nodes must let through to each other.
	Ports []CustomPort `json:"ports,omitempty"`
	// MTU: Sets the MTU of the pods' links in bytes. Without it, the MTU is that of the node's
	// links less `overhead`.
	MTU int `json:"mtu,omitempty"`
	// Overhead: Sets how many bytes of each packet the encapsulation takes.
	Overhead int `json:"overhead,omitempty"`
	// IPv6: true means that pods may have IPv6 addresses. Without it, a range of IPv6 is an error.
	IPv6 bool `json:"ipv6,omitempty"`
	// Requires: Says what a host must have. The agent refuses a host without it before it changes
	// anything.
	Requires CustomRequires `json:"requires"`
	// SharedHost: Says what other services of the host must leave alone.
	SharedHost CustomShared `json:"sharedHost"`
	// HealthChecks: Lists signs that exist while the network works. The status and `agent verify`
	// look for them.
	HealthChecks []CustomHealthCheck `json:"signs,omitempty"`
	// Agents: Lists containers of the network's pods that put back what is removed. The node does
	// not leave the network while one of them runs on it.
	Agents []string `json:"agents,omitempty"`
	// Residue: Lists what the network leaves behind when the node leaves it, by exact name and
	// mark. The node keeps the list in case no document has it any more.
	Residue CustomResidue `json:"leftovers"`
}

func (c *Custom) fields() []decode.Field {
	return []decode.Field{
		decode.Text("name", &c.Name, decode.ValidName),
		decode.Text("title", &c.Title, decode.NotEmpty),
		decode.Text("docs", &c.Docs, nil),
		decode.Into("kubernetes", func() []decode.Field {
			return []decode.Field{decode.Version("first", &c.First), decode.Version("last", &c.Last)}
		}).About("Says which releases of Kubernetes the network runs with"),
		decode.Into("conf", c.Conf.fields),
		decode.Entries("plugins", &c.Plugins, (*CustomPlugin).fields, "asset", "members"),
		decode.Entries("modules", &c.Modules, (*CustomModule).fields, "name", "why"),
		decode.Entries("sysctls", &c.Sysctls, (*CustomSysctl).fields, "key", "value", "why"),
		decode.Entries("mounts", &c.Mounts, (*CustomMount).fields, "what", "where", "type"),
		decode.Entries("packages", &c.Packages, (*CustomPackage).fields, "name", "on"),
		decode.Entries("certificates", &c.Certificates, (*CustomCertificate).fields, "keypair", "dir"),
		decode.Text("kubeconfig", &c.Kubeconfig, decode.NotEmpty),
		decode.Entries("ports", &c.Ports, (*CustomPort).fields, "proto", "port", "what"),
		decode.MTU("mtu", &c.MTU),
		decode.Number("overhead", &c.Overhead, 0, 200),
		decode.Bool("ipv6", &c.IPv6),
		decode.Into("requires", c.Requires.fields),
		decode.Into("sharedHost", c.SharedHost.fields),
		decode.Entries("signs", &c.HealthChecks, (*CustomHealthCheck).fields, "what"),
		decode.Texts("agents", &c.Agents, decode.NotEmpty),
		decode.Into("leftovers", c.Residue.fields),
	}
}

// fill gives the certificate files their default names, which are formed as Kubernetes forms its
// own.
func (c *Custom) fill(*ClusterSettings, decode.Origins) {
	for i := range c.Certificates {
		one := &c.Certificates[i]
		one.CAFile = cmp.Or(one.CAFile, "ca.crt")
		one.CertFile = cmp.Or(one.CertFile, one.Keypair+".crt")
		one.KeyFile = cmp.Or(one.KeyFile, one.Keypair+".key")
	}
}

// check checks the fields against each other, and reads the chain of plugins from the template.
func (c *Custom) check(s *ClusterSettings, r *decode.Reporter) {
	s.checkMTU(r, customAt+".mtu", c.MTU, 0)
	if c.Title == "" {
		r.ErrorAt(customAt, document.Diagnostic{ID: problem.FieldMissing, Summary: customAt + ".title is missing",
			Expected: "one line that says what the network is"})
	}
	conf := &c.Conf
	switch {
	case conf.Writer == "":
		r.ErrorAt(customAt+".conf", document.Diagnostic{ID: problem.FieldMissing,
			Summary: customAt + ".conf.writer is missing", Expected: "one of DaemonSet, containerd, netwright, user"})
		return
	case conf.File == "" && (conf.Writer == "netwright" || conf.Writer == "DaemonSet"):
		r.ErrorAt(customAt+".conf", document.Diagnostic{ID: problem.FieldMissing,
			Summary: customAt + ".conf.file is missing", Expected: "the conf's name, such as 10-acme.conflist"})
		return
	case conf.Template == "" && (conf.Writer == "netwright" || conf.Writer == "containerd"):
		r.ErrorAt(customAt+".conf", document.Diagnostic{ID: problem.FieldMissing,
			Summary:  fmt.Sprintf("%s.conf.template is missing: the writer is %s", customAt, conf.Writer),
			Expected: "the conf as it is to be written"})
		return
	case conf.Template != "" && (conf.Writer == "DaemonSet" || conf.Writer == "user"):
		r.ErrorAt(customAt+".conf.template",
			document.Diagnostic{Summary: "a template is set, and the conf is written by " + conf.Writer,
				Hint: "take it out, or set writer: netwright"})
		return
	case conf.Writer == "netwright":
		conf.checkTemplate(r)
	}
	c.validateHealthChecks(r)
	if s.six() && !c.IPv6 {
		r.ErrorAt("spec.podCIDR", document.Diagnostic{Summary: fmt.Sprintf("podCIDR is %s, and %s does not say that "+
			"it can do IPv6", s.PodCIDR, customAt), Expected: "ipv6: true, if it can"})
	}
}

func (c *Custom) validateHealthChecks(r *decode.Reporter) {
	for i, s := range c.HealthChecks {
		if (s.Path == "") == (s.Link == "") {
			r.ErrorAt(decode.Index(customAt+".signs", i),
				document.Diagnostic{Summary: fmt.Sprintf("sign %q names neither or both of a path and a link",
					document.Clip(s.Text)), Expected: "one of path, link"})
		}
	}
	for i, p := range c.Ports {
		if p.Proto == "ip" && p.Port > 255 {
			r.ErrorAt(decode.Index(customAt+".ports", i),
				document.Diagnostic{Summary: fmt.Sprintf("%d is no number of an IP protocol", p.Port),
					Expected: "a whole number from 1 to 255"})
		}
	}
}
