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
	Store string `json:"store,omitempty"` // the state store: a directory, or a URL (s3, https, k8s)
	// the cluster's name under the store; without it the only one that is there
	Cluster   string `json:"cluster,omitempty"`
	NodeGroup string `json:"nodeGroup,omitempty"` // the node's group; without it the one that the node's document names
	Node      string `json:"node,omitempty"`      // the node's name in Kubernetes; without it the host's name
	// StoreCA: a PEM file with the CAs that may vouch for an https or s3 store, in the place of the
	// machine's own
	StoreCA string `json:"storeCA,omitempty"`
	// a PEM file with the client certificate that an https store is shown
	StoreCert      string `json:"storeCert,omitempty"`
	StoreKey       string `json:"storeKey,omitempty"`       // a PEM file with the key of that certificate
	StoreTokenFile string `json:"storeTokenFile,omitempty"` // a file with the bearer token that an https store is shown
	Pin            string `json:"pin,omitempty"`            // the sha256 of the one manifest that is accepted
	// public keys of minisign, one of which must have signed the manifest
	TrustedKeys []string `json:"trustedKeys,omitempty"`
	// InsecureUnsigned: takes a manifest that is neither pinned nor signed: whoever can write to
	// the store, or stands before it, rules the node
	InsecureUnsigned bool `json:"insecureUnsigned,omitempty"`
	// Kubeconfig: the agent's own, for a k8s store and for the Nodes of the cluster; of its own
	// Node a node learns by kubelet's
	Kubeconfig string        `json:"kubeconfig,omitempty"`
	Interval   time.Duration `json:"interval,omitempty"` // the time between two looks at the store
	// Probes: what must go on passing when a change may cut the node off, such as tcp:10.0.0.1:443;
	// without them those that are found
	Probes []string `json:"probes,omitempty"`
	// the time after such a change in which the probes must pass
	ProbeWindow time.Duration `json:"probeWindow,omitempty"`
	Metrics     string        `json:"metrics,omitempty"` // where the daemon serves metrics, or off
	// NodeStatus: off: the daemon says nothing on the node's Node in the Kubernetes API, no
	// condition and no Events
	NodeStatus string `json:"nodeStatus,omitempty"`
	// StatusGroup: the group whose members may read the status (agent status) besides root; without
	// it nobody else may
	StatusGroup string `json:"statusGroup,omitempty"`
	// StatusObject: where the daemon puts the status as status/<node>.json below the cluster: true
	// is the store itself, else a directory or URL; without it nowhere
	StatusObject string `json:"statusObject,omitempty"`

	// Peers: nodes that knock on each other's ports without the Kubernetes API
	Peers Peers `json:"peers,omitzero"`
	// LogFormat: of the daemon's lines on stderr; without it the journal's own where stderr is the
	// journal, else text
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
