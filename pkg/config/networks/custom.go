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
	// Name: tells it from another declared network: from one to another is a switch. Not said: the
	// file name of its conf
	Name    string         `json:"name,omitempty"`
	Title   string         `json:"title"`             // one line, for lists
	Docs    string         `json:"docs,omitempty"`    // where it is documented, a URL
	First   values.Version `json:"first"`             // the first release that it runs with; not said: any
	Last    values.Version `json:"last"`              // the last release that it runs with; not said: any
	Conf    CustomConf     `json:"conf"`              // who writes the CNI conf, and what is in it
	Plugins []CustomPlugin `json:"plugins,omitempty"` // programs that the node gets before the network comes
	Modules []CustomModule `json:"modules,omitempty"` // kernel modules that are loaded, now and at each boot
	// kernel parameters, besides forwarding, which every network has as a default
	Sysctls []CustomSysctl `json:"sysctls,omitempty"`
	Mounts  []CustomMount  `json:"mounts,omitempty"` // file systems that its pods expect
	// packages of the distribution that it needs; named in a note, not installed
	Packages []CustomPackage `json:"packages,omitempty"`
	// client identities of the store's pki that the node gets
	Certificates []CustomCertificate `json:"certificates,omitempty"`
	// in words: where its kubeconfig is, and who writes it
	Kubeconfig string       `json:"kubeconfig,omitempty"`
	Ports      []CustomPort `json:"ports,omitempty"` // what nodes must let through to each other
	// of the pods' links; not said: that of the node's links less `overhead`
	MTU      int  `json:"mtu,omitempty"`
	Overhead int  `json:"overhead,omitempty"` // how many bytes the encapsulation takes of each packet
	IPv6     bool `json:"ipv6,omitempty"`     // pods may have IPv6 addresses; a range of IPv6 is an error without
	// what a host must have; one without is refused before anything is touched
	Requires   CustomRequires `json:"requires"`
	SharedHost CustomShared   `json:"sharedHost"` // what other services of the host must leave alone
	// what is there while the network works; the status and `agent verify` look for it
	HealthChecks []CustomHealthCheck `json:"signs,omitempty"`
	// Agents: containers of its pods that put back what is taken away: while one runs here, the
	// node does not leave the network
	Agents []string `json:"agents,omitempty"`
	// Residue: what it leaves when the node leaves it, by exact name and mark. Kept on the node,
	// for when no document says it any more
	Residue CustomResidue `json:"leftovers"`
}

func (c *Custom) fields() []decode.Field {
	return []decode.Field{
		decode.Text("name", &c.Name, decode.ValidName),
		decode.Text("title", &c.Title, decode.NotEmpty),
		decode.Text("docs", &c.Docs, nil),
		decode.Into("kubernetes", func() []decode.Field {
			return []decode.Field{decode.Version("first", &c.First), decode.Version("last", &c.Last)}
		}).About("which releases of Kubernetes it runs with"),
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
