package networks

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Multus is a meta plugin beside the cluster's network. Each pod gets the cluster's network first,
// and then the networks that its annotations name. kOps has no field for it.
// https://github.com/k8snetworkplumbingwg/multus-cni/blob/master/docs/configuration.md
type Multus struct {
	// Mode: thick means a shim and a daemon. thin means one binary.
	Mode string `json:"mode"`
	// Writer: Says who writes the conf. DaemonSet: multus writes it, from the first other conf.
	// netwright: the agent writes it, around the network's conf that it writes.
	Writer string `json:"writer"`
	// Delegates: Lists plugins of the asset cni-plugins that attachments use, such as macvlan and
	// static.
	Delegates []string `json:"delegates,omitempty"`
	// NamespaceIsolation: true lets pods take only attachments of their own namespace.
	NamespaceIsolation bool `json:"namespaceIsolation,omitempty"`
	// GlobalNamespaces: Lists namespaces, separated by commas, whose attachments all pods may take.
	// It is for namespaceIsolation.
	GlobalNamespaces string `json:"globalNamespaces,omitempty"`
	// LogLevel: Sets the log level of multus. Without it, multus decides.
	LogLevel string `json:"logLevel,omitempty"`
}

// Thin reports whether the plugin does the work itself, without a daemon.
func (m *Multus) Thin() bool { return m.Mode == "thin" }

const multusAt = "spec.networking.multus"

func (m *Multus) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("mode", &m.Mode, "thin", "thick").Default("thick"),
		decode.Choice("writer", &m.Writer, "DaemonSet", "netwright").Default("DaemonSet"),
		decode.Texts("delegates", &m.Delegates, decode.ValidMember),
		decode.Bool("namespaceIsolation", &m.NamespaceIsolation),
		decode.Text("globalNamespaces", &m.GlobalNamespaces, nil),
		decode.Choice("logLevel", &m.LogLevel, "debug", "verbose", "error", "panic"),
	}
}

// check refuses multus where it could not call the network's conf, and beside a network that
// renames every other conf. It also refuses writer netwright if the agent does not write the
// network's conf.
func (m *Multus) check(w *Networking, s *ClusterSettings, r *decode.Reporter) {
	ours := w.Bridge != nil || w.Custom != nil && w.Custom.Conf.Writer == "netwright"
	switch {
	case m.Writer == "netwright" && !ours:
		r.ErrorAt(multusAt+".writer", document.Diagnostic{ID: problem.NetworkUnfit,
			Summary: fmt.Sprintf("we write the conf of multus only around one that we write, and that of %s comes "+
				"from elsewhere", w.Name()),
			Expected: "DaemonSet",
			Hint:     "a conf that is there before its network tells the runtime that pods may come"})
	case w.Cilium != nil && (w.Cilium.CNIExclusive == nil || *w.Cilium.CNIExclusive):
		r.ErrorAt(multusAt, document.Diagnostic{ID: problem.NetworkUnfit,
			Summary: "cilium puts every other conf away while it runs, that of multus too " +
				"(00-multus.conf.cilium_bak), again and again",
			Hint: "set spec.networking.cilium.cniExclusive: false"})
	case w.Custom != nil && w.Custom.Conf.File != "" && w.Custom.Conf.File < "00-multus.conf":
		r.ErrorAt(customAt+".conf.file",
			document.Diagnostic{ID: problem.NetworkUnfit,
				Summary: fmt.Sprintf("%s comes before 00-multus.conf by its name, so runtimes would not use multus",
					w.Custom.Conf.File),
				Expected: "a name that sorts after it, such as 10-acme.conflist"})
	case w.CNI == nil && s.Runtime == "docker" && (w.Kubenet != nil || w.GCP != nil):
		r.ErrorAt(multusAt, document.Diagnostic{ID: problem.NetworkUnfit,
			Summary: w.Name() + " is in kubelet itself here (docker), which calls no conf, so nothing would call " +
				"multus", Hint: "choose another network, or containerd"})
	}
}
