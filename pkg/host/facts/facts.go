package facts

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// Facts are what is true of a host during one pass. They are gathered once,
// saved by `agent facts -o json` and read again by `agent store check`.
// The model sees nothing else of the host.
type Facts struct {
	Hostname string      `json:"hostname"`
	Arch     string      `json:"arch"` // as in GOARCH; of an image that of its programs
	OS       OSRelease   `json:"os"`
	Kernel   KernelFacts `json:"kernel"`
	Init     string      `json:"init"`      // "systemd" or ""
	Contain  string      `json:"container"` // "", "systemd-nspawn", "sandbox", "docker" …
	// Cloud is where the machine runs, as kOps' spec.cloudProvider names it, by what its firmware
	// says; "" when that tells nothing, and in a container, whose machine is somebody else's.
	Cloud string `json:"cloud,omitempty"`
	// Instance is what AWS says of this instance; nil anywhere else, and where nobody asked: see
	// [Sources.LearnInstance].
	Instance *Instance    `json:"instance,omitempty"`
	Cgroup   int          `json:"cgroup"` // 1, 2, or 0 when unknown
	Links    []LinkFact   `json:"links"`
	Uplink   string       `json:"uplink"` // the default route's link, "" if none
	Address  netip.Addr   `json:"address"`
	RALinks  []string     `json:"raLinks,omitempty"` // links on which the kernel takes router advertisements
	Runtime  RuntimeFacts `json:"runtime"`
	Kubelet  KubeletFacts `json:"kubelet"`
	// Forward is the verdict of the FORWARD hook's base chains: "drop" when any
	// of them drops by policy (a Docker host), else "accept".
	ForwardPolicy map[string]string `json:"forwardPolicy"` // by family "ip", "ip6"
	// LateSysctls is what files set that are read at boot after ours.
	LateSysctls []SysctlLine `json:"lateSysctls,omitempty"`
	// Services are those that have to do with the host's network, by unit; see [Facts.Uses].
	Services map[string]ServiceState `json:"services,omitempty"`
	// Systemd is the release of systemd-networkd where that is in use, 252 for example; 0: not
	// known.
	Systemd int `json:"systemd,omitempty"`
	// UdevRules are files of rules that configure interfaces which appear.
	UdevRules []string `json:"udevRules,omitempty"`
	// GuestAliases is what the node's owner tells Google's guest agent of alias addresses
	// (ip_aliases).
	GuestAliases *Setting `json:"guestAliases,omitempty"`
	// SymbolicLinks are those on the way to the directories that networks have files in, and that
	// are not followed.
	SymbolicLinks []hostpath.LinkError `json:"symbolicLinks,omitempty"`
	// ResolvConf is the first file whose servers others than this host can ask: its own, or where
	// that names a stub of the host's alone, the one that has the stub's. "" if none has.
	ResolvConf string `json:"resolvConf,omitempty"`
	// Peers are other agents of this node whose files are theirs: nodeup, nodeadm, kubeadm.
	Peers []string `json:"peers,omitempty"`
	// Problems lists what is there and could not be read, each with its reason.
	Problems []string `json:"problems,omitempty"`
}

// OSRelease is what /etc/os-release says.
type OSRelease struct {
	ID        string   `json:"id"`
	IDLike    []string `json:"idLike,omitempty"`
	VersionID string   `json:"versionID"`
	Pretty    string   `json:"pretty"`
}

// KernelFacts is what the running kernel can do.
type KernelFacts struct {
	Release string `json:"release"`
	IPv6    bool   `json:"ipv6"`
	// HostSysctls says that keys of scope host may be written here. It is false
	// in a container or a sandbox, where they belong to somebody else.
	HostSysctls bool `json:"hostSysctls"`
	// Modules says that modules may be loaded here; of an image, that it has kernels with modules.
	Modules bool `json:"modules"`
	BPF     bool `json:"bpf"` // /sys/fs/bpf is a bpf file system
	// Hugepages is how many huge pages are set aside, by size ("2M", "1G"); a size that is not in
	// it the kernel does not have. Nil: not known.
	Hugepages map[string]int `json:"hugepages"`
	// ModuleStates is, per module that a builder may ask for, where it stands.
	ModuleStates map[string]kernel.ModuleState `json:"knownModules,omitempty"`
}

// LinkFact is a link and who manages it.
type LinkFact struct {
	Name      string         `json:"name"`
	Kind      string         `json:"kind,omitempty"`
	MTU       int            `json:"mtu"`
	Up        bool           `json:"up"`
	Loopback  bool           `json:"loopback,omitempty"`
	PtP       bool           `json:"pointToPoint,omitempty"`
	Physical  bool           `json:"physical,omitempty"`
	Master    string         `json:"master,omitempty"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	Manager   string         `json:"manager,omitempty"` // systemd-networkd, NetworkManager, ""
}

// RuntimeFacts is the container runtime and its effective CNI settings.
type RuntimeFacts struct {
	Name       string `json:"name"` // containerd, cri-o, docker, ""
	Version    string `json:"version,omitempty"`
	Socket     string `json:"socket,omitempty"`
	ConfigFile string `json:"configFile,omitempty"`
	// CRIDisabled says that containerd's file switches its CRI off, as Docker's packages do.
	CRIDisabled bool `json:"criDisabled,omitempty"`
	// ConfigVersion is containerd's configuration version: 2 for 1.x, 3 and up for 2.x.
	ConfigVersion int      `json:"configVersion,omitempty"`
	Imports       []string `json:"imports,omitempty"`
	BinDirs       []string `json:"binDirs,omitempty"`
	// BinDirKey is the key by which containerd's files name BinDirs: bin_dir,
	// bin_dirs, "" if none does. containerd refuses both together.
	BinDirKey    string `json:"binDirKey,omitempty"`
	ConfDir      string `json:"confDir,omitempty"`
	ConfTemplate string `json:"confTemplate,omitempty"`
	MaxConfNum   int    `json:"maxConfNum,omitempty"`
	// DropInDir is CRI-O's directory of drop-ins where its command line names one.
	DropInDir string `json:"dropInDir,omitempty"`
	// DefaultNetwork is the only network that CRI-O gives pods, by the name in its conf
	// (cni_default_network); "": that of the first conf.
	DefaultNetwork string `json:"defaultNetwork,omitempty"`
	// SetBy says who has the last word on a CNI setting, by its key, where that is not ConfigFile:
	// a file that it imports, a drop-in, or the command line.
	SetBy map[string]string `json:"setBy,omitempty"`
	// ByOthers are the directories without a drop-in of ours; nil: there is none.
	ByOthers *CNIDirs `json:"byOthers,omitempty"`
	// From says where the CNI settings were read: "cri status", a configuration file's path,
	// "default".
	From string `json:"from,omitempty"`
	// NetworkReady and its message are CRI's NetworkReady condition, when asked over the socket.
	NetworkReady  *bool  `json:"networkReady,omitempty"`
	NetworkReason string `json:"networkReason,omitempty"`
	// LoadedNetwork is the name in the conf that the runtime has loaded, LoadedConf the file that
	// it came from, and LoadedOld says that this list's text is another one by now. Only containerd
	// tells.
	LoadedNetwork string `json:"loadedNetwork,omitempty"`
	LoadedConf    string `json:"loadedConf,omitempty"`
	LoadedOld     bool   `json:"loadedOld,omitempty"`
	// LoadError is why containerd could not load the confs when it last looked: it goes on with
	// what it had.
	LoadError string `json:"loadError,omitempty"`
	// InternalLoopback says that containerd sets pods' loopback up by itself, without the plugin
	// (2.x, use_internal_loopback).
	InternalLoopback bool `json:"internalLoopback,omitempty"`
}

// CNIDirs are where a runtime looks for plugins and confs.
type CNIDirs struct {
	BinDirs []string `json:"binDirs"`
	ConfDir string   `json:"confDir"`
}

// SysctlLine is a key that a file of sysctl.d(5) sets.
type SysctlLine struct {
	Key    string `json:"key"` // in dotted form
	Value  string `json:"value"`
	File   string `json:"file"`
	Target string `json:"target,omitempty"` // of the file, where it is a symlink
}

// VariableFact is a variable of a unit, or a field of a configuration, and the file that sets it.
type VariableFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	File  string `json:"file"`
}

// FlagFact is a flag of a command line with its last value.
type FlagFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Overrides are the variables that stand before it: it wins over what they hold.
	Overrides []string `json:"overrides,omitempty"`
}

// KubeletFacts is how the kubelet on this host takes its flags.
type KubeletFacts struct {
	Unit    string `json:"unit,omitempty"` // kubelet.service, "" if none
	Program string `json:"program,omitempty"`
	// Version is what the program said in an earlier pass, see [LearnVersions].
	Version   string `json:"version,omitempty"`
	ExecStart string `json:"execStart,omitempty"`
	// Variables are those that ExecStart expands to words, such as $KUBELET_EXTRA_ARGS. Of a
	// ${KUBELET_EXTRA_ARGS} systemd makes one word, whatever it holds.
	Variables []string `json:"variables,omitempty"`
	// Flags are those of its command line, without what a drop-in of ours adds.
	Flags []FlagFact `json:"flags,omitempty"`
	// Set is what files of others say by Environment= of those variables: the last of systemd's
	// wins, whole.
	Set        []VariableFact `json:"set,omitempty"`
	EnvFiles   []string       `json:"envFiles,omitempty"`
	ConfigFile string         `json:"configFile,omitempty"`
	ConfigDir  string         `json:"configDir,omitempty"` // --config-dir, if it is given
	// ConfigSet is what ConfigFile and files of others in ConfigDir say; of one field the last.
	ConfigSet []VariableFact `json:"configSet,omitempty"`
	// CNI is what flags tell a kubelet that calls the plugins itself (below 1.24), with the
	// directories that count without a flag.
	CNI KubeletCNI `json:"cni,omitzero"`
	// ClusterDNS is whom pods ask: --cluster-dns, or clusterDNS of its configuration.
	ClusterDNS []netip.Addr `json:"clusterDNS,omitempty"`
	// RuntimeEndpoint is --container-runtime-endpoint, else that of its configuration.
	RuntimeEndpoint string `json:"runtimeEndpoint,omitempty"`
	// Kubeconfig is by which it speaks to the API: --kubeconfig if it is given, else where kOps,
	// EKS or kubeadm have it, if it is there.
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// KubeletCNI is how a kubelet calls CNI plugins by itself.
type KubeletCNI struct {
	Plugin  string   `json:"plugin"` // --network-plugin: cni, kubenet
	ConfDir string   `json:"confDir"`
	BinDirs []string `json:"binDirs"`
}
