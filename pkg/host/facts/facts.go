package facts

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// Facts are what is true of a host during one pass. They are gathered once. `agent facts -o json`
// saves them, and `agent store check` reads them. The model knows nothing else of the host.
type Facts struct {
	Hostname string      `json:"hostname"`
	Arch     string      `json:"arch"` // as GOARCH; for an image, that of its programs
	OS       OSRelease   `json:"os"`
	Kernel   KernelFacts `json:"kernel"`
	Init     string      `json:"init"`      // "systemd" or ""
	Contain  string      `json:"container"` // "", "systemd-nspawn", "sandbox", "docker" …
	// Cloud is the cloud of the machine, as kOps' spec.cloudProvider names it, from what the
	// firmware says. It is "" if the firmware names none, and in a container.
	Cloud string `json:"cloud,omitempty"`
	// Instance is what AWS says about this instance. It is nil outside AWS, and before
	// [Sources.LearnInstance].
	Instance *Instance    `json:"instance,omitempty"`
	Cgroup   int          `json:"cgroup"` // 1, 2, or 0 if unknown
	Links    []LinkFact   `json:"links"`
	Uplink   string       `json:"uplink"` // the link of the default route, "" if none
	Address  netip.Addr   `json:"address"`
	RALinks  []string     `json:"raLinks,omitempty"` // the kernel accepts router advertisements
	Runtime  RuntimeFacts `json:"runtime"`
	Kubelet  KubeletFacts `json:"kubelet"`
	// ForwardPolicy is "drop" if a base chain at the forward hook has the policy drop (as on a
	// Docker host), else "accept".
	ForwardPolicy map[string]string `json:"forwardPolicy"` // by family "ip", "ip6"
	// LateSysctls are the keys in files that are read at boot after the agent's file.
	LateSysctls []SysctlLine `json:"lateSysctls,omitempty"`
	// Services are the services that affect the host's network, by unit; see [Facts.Uses].
	Services map[string]ServiceState `json:"services,omitempty"`
	// Systemd is the version of systemd-networkd, such as 252, if networkd is used; 0: unknown.
	Systemd int `json:"systemd,omitempty"`
	// UdevRules are files of udev rules that configure new interfaces.
	UdevRules []string `json:"udevRules,omitempty"`
	// GuestAliases is the setting for alias addresses (ip_aliases) in files of others for Google's
	// guest agent.
	GuestAliases *Setting `json:"guestAliases,omitempty"`
	// SymbolicLinks are the symlinks on the paths of network files that the agent does not follow.
	SymbolicLinks []hostpath.LinkError `json:"symbolicLinks,omitempty"`
	// ResolvConf is the first file whose name servers other hosts can also reach: /etc/resolv.conf,
	// or the file with the real servers if that one names a local stub. It is "" if there is none.
	ResolvConf string `json:"resolvConf,omitempty"`
	// Peers are other node agents, whose files belong to them: nodeup, nodeadm, kubeadm.
	Peers []string `json:"peers,omitempty"`
	// Problems lists what exists and could not be read, each with its reason.
	Problems []string `json:"problems,omitempty"`
}

// OSRelease is the content of /etc/os-release.
type OSRelease struct {
	ID        string   `json:"id"`
	IDLike    []string `json:"idLike,omitempty"`
	VersionID string   `json:"versionID"`
	Pretty    string   `json:"pretty"`
}

// KernelFacts describe the running kernel.
type KernelFacts struct {
	Release string `json:"release"`
	IPv6    bool   `json:"ipv6"`
	// HostSysctls means that keys of scope host may be written. It is false in a container or
	// sandbox, which must not change them for the host.
	HostSysctls bool `json:"hostSysctls"`
	// Modules means that modules may be loaded; for an image, that it has kernels with modules.
	Modules bool `json:"modules"`
	BPF     bool `json:"bpf"` // /sys/fs/bpf is a bpf file system
	// Hugepages is the number of allocated huge pages by size ("2M", "1G"). The kernel does not
	// support other sizes. Nil: unknown.
	Hugepages map[string]int `json:"hugepages"`
	// ModuleStates is the state of each module that a builder may ask for.
	ModuleStates map[string]kernel.ModuleState `json:"knownModules,omitempty"`
}

// LinkFact is a link and its manager.
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

// RuntimeFacts are the container runtime and its effective CNI settings.
type RuntimeFacts struct {
	Name       string `json:"name"` // containerd, cri-o, docker, ""
	Version    string `json:"version,omitempty"`
	Socket     string `json:"socket,omitempty"`
	ConfigFile string `json:"configFile,omitempty"`
	// CRIDisabled means that containerd's file disables its CRI plugin, as Docker's packages do.
	CRIDisabled bool `json:"criDisabled,omitempty"`
	// CRIDisabledBy are the plugins of CRI that its files disable, each with the file: "cri in
	// /etc/containerd/config.toml".
	CRIDisabledBy []string `json:"criDisabledBy,omitempty"`
	// ConfigVersion is the version of containerd's configuration: 2 for 1.x, 3 and up for 2.x.
	ConfigVersion int      `json:"configVersion,omitempty"`
	Imports       []string `json:"imports,omitempty"`
	// NewerImport is the last imported file of containerd with a newer version than ConfigFile.
	NewerImport string   `json:"newerImport,omitempty"`
	BinDirs     []string `json:"binDirs,omitempty"`
	// BinDirKey is the key for BinDirs in containerd's files: bin_dir, bin_dirs, or "" if neither
	// is set. containerd refuses both together.
	BinDirKey    string `json:"binDirKey,omitempty"`
	ConfDir      string `json:"confDir,omitempty"`
	ConfTemplate string `json:"confTemplate,omitempty"`
	MaxConfNum   int    `json:"maxConfNum,omitempty"`
	// DropInDir is CRI-O's directory of drop-ins, if its command line names one.
	DropInDir string `json:"dropInDir,omitempty"`
	// DefaultNetwork is the name of the only network that CRI-O gives to pods
	// (cni_default_network); "": CRI-O uses the first conf.
	DefaultNetwork string `json:"defaultNetwork,omitempty"`
	// SetBy has, by key, what sets a CNI setting in the end, if that is not ConfigFile: an imported
	// file, a drop-in, or the command line.
	SetBy map[string]string `json:"setBy,omitempty"`
	// OtherTables has the imported files of containerd that set CNI settings and have another
	// version than ConfigFile: by file, the plugin whose table has these settings there.
	OtherTables map[string]string `json:"otherTables,omitempty"`
	// ByOthers are the directories without the agent's drop-in; nil: it has no drop-in.
	ByOthers *CNIDirs `json:"byOthers,omitempty"`
	// From is the source of the CNI settings: "cri status", "crio status config" (CRI-O as it
	// runs), the path of a configuration file, or "default".
	From string `json:"from,omitempty"`
	// NetworkReady and its message are CRI's NetworkReady condition, if the runtime was asked.
	NetworkReady  *bool  `json:"networkReady,omitempty"`
	NetworkReason string `json:"networkReason,omitempty"`
	// LoadedNetwork is the name in the conf that the runtime has loaded, LoadedConf the file of
	// that conf. LoadedOld means that this conflist has changed since. Only containerd reports
	// these.
	LoadedNetwork string `json:"loadedNetwork,omitempty"`
	LoadedConf    string `json:"loadedConf,omitempty"`
	LoadedOld     bool   `json:"loadedOld,omitempty"`
	// LoadError is why containerd could not load the confs the last time. It continues with the
	// conf that it had.
	LoadError string `json:"loadError,omitempty"`
	// InternalLoopback means that containerd sets up the loopback of pods itself, without the
	// plugin (2.x, use_internal_loopback).
	InternalLoopback bool `json:"internalLoopback,omitempty"`
}

// CNIDirs are the directories in which a runtime looks for plugins and confs.
type CNIDirs struct {
	BinDirs []string `json:"binDirs"`
	ConfDir string   `json:"confDir"`
}

// SysctlLine is a key that a file of sysctl.d(5) sets.
type SysctlLine struct {
	Key    string `json:"key"` // in dotted form
	Value  string `json:"value"`
	File   string `json:"file"`
	Target string `json:"target,omitempty"` // of File, if it is a symlink
	Line   int    `json:"line,omitempty"`   // in File, from 1 on
}

// VariableFact is a variable of a unit, or a field of a configuration, with the file that sets it.
type VariableFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	File  string `json:"file"`
}

// FlagFact is a flag of a command line with its last value.
type FlagFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Overrides are the variables before it in the command line: it overrides the flags in them.
	Overrides []string `json:"overrides,omitempty"`
}

// KubeletFacts describe how the kubelet of this host gets its flags.
type KubeletFacts struct {
	Unit    string `json:"unit,omitempty"` // kubelet.service, "" if none
	Program string `json:"program,omitempty"`
	// Version is what the program reported in an earlier pass, see [LearnVersions].
	Version   string `json:"version,omitempty"`
	ExecStart string `json:"execStart,omitempty"`
	// Variables are the variables that ExecStart splits into words, such as $KUBELET_EXTRA_ARGS.
	// systemd makes one word of ${KUBELET_EXTRA_ARGS}, so that is not in the list.
	Variables []string `json:"variables,omitempty"`
	// Flags are the flags of its command line, without those from the agent's drop-in.
	Flags []FlagFact `json:"flags,omitempty"`
	// Set are the values of these variables in Environment= lines of files of others. systemd uses
	// only the last value of a variable.
	Set        []VariableFact `json:"set,omitempty"`
	EnvFiles   []string       `json:"envFiles,omitempty"`
	ConfigFile string         `json:"configFile,omitempty"`
	ConfigDir  string         `json:"configDir,omitempty"` // --config-dir, if given
	// ConfigSet are the fields in ConfigFile and in files of others in ConfigDir; the last file
	// counts.
	ConfigSet []VariableFact `json:"configSet,omitempty"`
	// CNI are the flags of a kubelet that calls the plugins itself (before 1.24), or the default
	// directories.
	CNI KubeletCNI `json:"cni,omitzero"`
	// ClusterDNS are the name servers of pods: --cluster-dns, or clusterDNS of the configuration.
	ClusterDNS []netip.Addr `json:"clusterDNS,omitempty"`
	// RuntimeEndpoint is --container-runtime-endpoint, or else that of the configuration.
	RuntimeEndpoint string `json:"runtimeEndpoint,omitempty"`
	// Kubeconfig is kubelet's kubeconfig: --kubeconfig if given, else the file of kOps, EKS or
	// kubeadm, if it exists.
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// KubeletCNI are the settings of a kubelet that calls CNI plugins itself.
type KubeletCNI struct {
	Plugin  string   `json:"plugin"` // --network-plugin: cni, kubenet
	ConfDir string   `json:"confDir"`
	BinDirs []string `json:"binDirs"`
}
