// Package agentfile reads the agent's own file, agent.yaml. It says where the node's configuration
// is, and nothing about its content.
package agentfile

import (
	"encoding/base64"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Path is the default path of the agent's own file (--conf).
const Path = "/etc/netwright/agent.yaml"

// AgentFile says where the node's configuration is, and nothing about its content. Each field may
// be missing, because flags can set the same.
type AgentFile struct {
	// Store: Names the state store: a directory, or a URL of scheme s3, https or k8s.
	Store string `json:"store,omitempty"`
	// Cluster: Names the cluster under the store. Without it, the agent takes the only cluster that
	// is there.
	Cluster string `json:"cluster,omitempty"`
	// NodeGroup: Names the node's group. Without it, the agent takes the group that the node's
	// document names.
	NodeGroup string `json:"nodeGroup,omitempty"`
	// Node: Sets the node's name in Kubernetes. Without it, the agent takes the host's name.
	Node string `json:"node,omitempty"`
	// StoreCA: Names a PEM file with the CAs that are trusted for an https or s3 store. They
	// replace the machine's own CAs.
	StoreCA string `json:"storeCA,omitempty"`
	// StoreCert: Names a PEM file with the client certificate that the agent shows to an https
	// store.
	StoreCert string `json:"storeCert,omitempty"`
	// StoreKey: Names a PEM file with the private key of `storeCert`.
	StoreKey string `json:"storeKey,omitempty"`
	// StoreTokenFile: Names a file with the bearer token that the agent sends to an https store.
	StoreTokenFile string `json:"storeTokenFile,omitempty"`
	// Pin: Sets the sha256 of the only manifest that the agent accepts.
	Pin string `json:"pin,omitempty"`
	// TrustedKeys: Lists public keys of minisign. One of them must have signed the manifest.
	TrustedKeys []string `json:"trustedKeys,omitempty"`
	// InsecureUnsigned: true accepts a manifest that is neither pinned nor signed. Then everybody
	// who can write to the store, or answer in its place, controls the node.
	InsecureUnsigned bool `json:"insecureUnsigned,omitempty"`
	// Kubeconfig: Names the agent's own kubeconfig, for a k8s store and for the Nodes of the
	// cluster. The default is /etc/netwright/kubeconfig. For its own Node, the agent uses kubelet's
	// kubeconfig.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Interval: Sets the time between two looks at the store.
	Interval time.Duration `json:"interval,omitempty"`
	// Probes: Lists the probes that must keep passing when a change may cut the node off, such as
	// tcp:10.0.0.1:443. Without it, the agent uses the probes that it finds.
	Probes []string `json:"probes,omitempty"`
	// ProbeWindow: Sets the time in which the probes must pass after a change that may cut the node
	// off.
	ProbeWindow time.Duration `json:"probeWindow,omitempty"`
	// Metrics: Sets the address where the daemon serves metrics. off turns them off.
	Metrics string `json:"metrics,omitempty"`
	// NodeStatus: off means that the daemon writes nothing to the node's Node in the Kubernetes
	// API: no condition and no Events.
	NodeStatus string `json:"nodeStatus,omitempty"`
	// StatusGroup: Names the group whose members may read the status (`agent status`) besides root.
	// Without it, only root may read it.
	StatusGroup string `json:"statusGroup,omitempty"`
	// StatusObject: Sets where the daemon writes the status, as status/<node>.json below the
	// cluster: a directory, a URL, or true for the store itself. Without it, the daemon does not
	// write it.
	StatusObject string `json:"statusObject,omitempty"`

	// Peers: Sets up nodes that connect to each other's ports for probes, without the Kubernetes
	// API.
	Peers Peers `json:"peers,omitzero"`
	// LogFormat: Sets the format of the daemon's lines on stderr. Without it, the format is the
	// journal's own where stderr is the journal, and text elsewhere.
	LogFormat string `json:"logFormat,omitempty"`

	origins decode.Origins
}

// These are the values of AgentFile.LogFormat.
const (
	LogText = "text"
	LogJSON = "json"
)

// These are the defaults if neither the agent's file nor a flag sets a value.
const (
	DefaultInterval    = 10 * time.Minute
	DefaultProbeWindow = 30 * time.Second
	DefaultMetrics     = "127.0.0.1:19870"
)

// These are the bounds of AgentFile.Interval and of ProbeWindow. MinInterval also bounds
// --interval. Within them the agent looks at the store often enough, and does not overload it.
const (
	MinInterval = 5 * time.Second
	maxInterval = 24 * time.Hour

	minProbeWindow = time.Second
	maxProbeWindow = 10 * time.Minute
)

// Origin returns where a field came from ("store", "trustedKeys"), or zero if the file does not set
// it.
func (a *AgentFile) Origin(path string) document.Origin { return a.origins[path] }

// Decode reads the agent's own file, as strictly as the documents of a store. The file may be
// empty. If the diagnostics have an error, the result is nil.
func Decode(src document.Source) (*AgentFile, document.Diagnostics) {
	a := &AgentFile{origins: make(decode.Origins)}
	doc := decode.NewDoc(src)
	doc.MayBeEmpty = true
	doc.Parse()
	if doc.Root != nil {
		d := decode.Decoder{Doc: doc, Origins: a.origins}
		d.At(doc.Root, "").Mapping(a.fields())
	}
	if doc.Diags.HasErrors() {
		return nil, doc.Diags
	}
	return a, doc.Diags
}

func (a *AgentFile) fields() []decode.Field {
	return []decode.Field{
		decode.Text("store", &a.Store, validStore),
		decode.Text("cluster", &a.Cluster, decode.ValidName),
		decode.Text("nodeGroup", &a.NodeGroup, decode.ValidName),
		decode.Text("node", &a.Node, decode.ValidName),
		decode.AbsolutePath("storeCA", &a.StoreCA),
		decode.AbsolutePath("storeCert", &a.StoreCert),
		decode.AbsolutePath("storeKey", &a.StoreKey),
		decode.AbsolutePath("storeTokenFile", &a.StoreTokenFile),
		decode.Text("pin", &a.Pin, decode.ValidSHA256),
		decode.Texts("trustedKeys", &a.TrustedKeys, validKey),
		decode.Bool("insecureUnsigned", &a.InsecureUnsigned),
		decode.AbsolutePath("kubeconfig", &a.Kubeconfig),
		decode.Duration("interval", &a.Interval, MinInterval, maxInterval),
		decode.Texts("probes", &a.Probes, validProbe),
		decode.Text("logFormat", &a.LogFormat, validLogFormat),
		decode.Duration("probeWindow", &a.ProbeWindow, minProbeWindow, maxProbeWindow),
		decode.Text("metrics", &a.Metrics, ValidMetrics),
		decode.Text("nodeStatus", &a.NodeStatus, ValidNodeStatus),
		decode.Text("statusGroup", &a.StatusGroup, validGroup),
		{Name: "statusObject", Set: statusObject(&a.StatusObject)},
		{Name: "peers", Set: peerFields(&a.Peers)},
	}
}

// Off turns off [AgentFile.Metrics] and [AgentFile.NodeStatus]. On is the default of NodeStatus.
const (
	Off = "off"
	On  = "on"
)

// ValidMetrics returns what is expected if metrics cannot be served at s, in agent.yaml or on the
// command line. It returns "" if they can.
func ValidMetrics(s string) string {
	host, port, err := net.SplitHostPort(s)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if _, addrErr := netip.ParseAddr(host); s == Off ||
		err == nil && portErr == nil && n > 0 && (addrErr == nil || host == "localhost") {
		return ""
	}
	return "an address of this host with a port, or off, such as 127.0.0.1:19870 or [::1]:19870"
}

// ValidNodeStatus returns what is expected if s is no value of [AgentFile.NodeStatus], otherwise
// "".
func ValidNodeStatus(s string) string {
	if s == On || s == Off {
		return ""
	}
	return "on or off"
}

// validStore accepts an absolute directory or a URL. The state store knows which schemes exist.
func validStore(s string) string {
	scheme, rest, isURL := strings.Cut(s, "://")
	if strings.HasPrefix(s, "/") && decode.Printable(s) ||
		isURL && scheme != "" && rest != "" && decode.Printable(s) && !strings.ContainsAny(s, " @") {
		return ""
	}
	return "an absolute directory, or a URL without a password, such as s3://bucket/prefix"
}

// statusObject reads true for the store itself, or another place.
func statusObject(to *string) decode.Set {
	return func(v decode.Reading) {
		if v.Kind != document.KindBool {
			decode.Text("statusObject", to, validStore).Set(v)
			return
		}
		var on bool
		if decode.Bool("statusObject", &on).Set(v); on {
			*to = On
		}
	}
}

// validGroup accepts the name or the number of a group.
// https://man7.org/linux/man-pages/man8/groupadd.8.html
func validGroup(s string) string {
	if s != "" && len(s) <= 32 && strings.Trim(s, groupCharacters) == "" && s[0] != '-' {
		return ""
	}
	return "the name of a group of this host, such as adm"
}

const groupCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// validProbe accepts what a checkpoint can probe.
func validProbe(s string) string {
	kind, what, _ := strings.Cut(s, ":")
	switch kind {
	case "ping", "dns":
		if _, err := netip.ParseAddr(what); err == nil {
			return ""
		}
	case "tcp":
		if host, port, err := net.SplitHostPort(what); err == nil && host != "" {
			if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
				return ""
			}
		}
	}
	return "tcp:HOST:PORT, ping:ADDRESS or dns:ADDRESS, such as tcp:10.0.0.1:443"
}

func validLogFormat(s string) string {
	if s == LogText || s == LogJSON {
		return ""
	}
	return "text or json"
}

// validKey accepts a minisign public key: "Ed", 8 bytes of key ID, 32 bytes of Ed25519 key.
// https://jedisct1.github.io/minisign/#public-key-format
func validKey(s string) string {
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(raw) != 42 || string(raw[:2]) != "Ed" {
		return "a minisign public key: the second line of the .pub file, 56 characters"
	}
	return ""
}

// Fields returns the fields of the agent's own file. The manual is generated from them.
func Fields() []decode.Description {
	described := decode.Describe("", (&AgentFile{}).fields())
	for i := range described {
		f := &described[i]
		switch f.Path {
		case "interval":
			f.Default = DefaultInterval.String()
		case "probeWindow":
			f.Default = DefaultProbeWindow.String()
		case "metrics":
			f.Default = DefaultMetrics
		case "nodeStatus":
			f.Default = On
		case "peers.port":
			f.Default = strconv.Itoa(DefaultPeersPort)
		}
	}
	return described
}
