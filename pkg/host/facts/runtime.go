package facts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// runtimeKind is a container runtime that nodes have: its unit and its default sockets.
type runtimeKind struct {
	name    string
	unit    string
	sockets []string
	config  string
}

var runtimeKinds = []runtimeKind{
	{"cri-o", "crio.service", []string{"/run/crio/crio.sock", "/var/run/crio/crio.sock"}, "/etc/crio/crio.conf"},
	{"containerd", "containerd.service", []string{"/run/containerd/containerd.sock"}, "/etc/containerd/config.toml"},
	docker,
}

var docker = runtimeKind{"docker", "docker.service", []string{"/run/cri-dockerd.sock", "/run/dockershim.sock"}, ""}

// The default CNI directories of runtimes.
const (
	defaultCNIBin  = "/opt/cni/bin"
	defaultCNIConf = "/etc/cni/net.d"
)

// runtime finds the container runtime that kubelet uses, and its effective CNI settings: those that
// it reports over CRI, or else those in its files.
func (g gatherer) runtime(ctx context.Context) RuntimeFacts {
	kind, unit := g.runtimeKind()
	if kind.name == "" {
		if err := EmbeddedRuntime(g.files); err != nil {
			g.problem("find the container runtime", err)
		}
		return RuntimeFacts{}
	}
	rt := RuntimeFacts{Name: kind.name, Socket: g.socket(kind)}
	rt.ConfigFile = kind.config
	command := commandOf(unit, g.files)
	if file := command.option("CONTAINER_CONFIG", "config", "c"); file != "" { // CRI-O's variable
		rt.ConfigFile = file
	}
	switch kind.name {
	case "containerd":
		g.containerdFile(&rt, command)
		if rt.CRIDisabled && !kind.namedBy(g.facts.Kubelet.RuntimeEndpoint) {
			if unit, err := readUnitFile(g.files, g.dirs, docker.unit); err == nil && !unit.Masked {
				rt = RuntimeFacts{Name: docker.name, Socket: g.socket(docker)} // docker uses this containerd
				g.criDockerd(&rt)
				break
			}
		}
		g.withoutOurs(&rt, command, gatherer.containerdFile)
	case "cri-o":
		g.crioFiles(&rt, command)
		g.withoutOurs(&rt, command, gatherer.crioFiles)
	case "docker":
		g.criDockerd(&rt)
	}
	if rt.CRIDisabled {
		g.problem("ask the container runtime",
			fmt.Errorf("its CRI is switched off: disabled_plugins has %s: remove it from that list, and restart %s",
				strings.Join(rt.CRIDisabledBy, ", and "), rt.Name))
	}
	servesCRI := !rt.CRIDisabled && rt.ConfDir != "" // docker alone does not
	if rt.Socket != "" && servesCRI && g.opt.live() && !g.opt.Sandbox {
		status, known, err := g.opt.Runtime.Status(ctx, rt.Socket)
		if err != nil {
			g.problem("ask the container runtime", err)
		}
		if known {
			merged := rt.Name == "containerd" && rt.SetBy != nil
			replaces := merged && g.replacesSections(&rt, command)
			rt.Version = strings.TrimPrefix(status.Version, "v")
			if merged && replaces != g.replacesSections(&rt, command) {
				g.containerdFile(&rt, command)
			}
			g.effective(&rt, status)
		}
	}
	return rt
}

// embeddedRuntimes are the sockets of runtimes that a distribution of Kubernetes runs inside of its
// own service.
var embeddedRuntimes = []struct{ socket, of string }{
	{"/run/k3s/containerd/containerd.sock", "k3s and rke2"},
	{"/run/k0s/containerd.sock", "k0s"},
	{"/var/snap/microk8s/common/run/containerd.sock", "microk8s"},
}

// EmbeddedRuntime returns an error if a distribution of Kubernetes runs a containerd of its own.
// Its CNI directories are others, and the agent does not know them.
func EmbeddedRuntime(f hostfs.Files) error {
	for _, e := range embeddedRuntimes {
		if isThere(f, e.socket) {
			return fmt.Errorf("%s is the socket of the containerd inside of %s, which has other CNI directories: the "+
				"agent does not know them, and its conf has no effect there", e.socket, e.of)
		}
	}
	return nil
}

// withoutOurs reads a runtime's files again without the agent's drop-in, if that sets anything.
func (g gatherer) withoutOurs(rt *RuntimeFacts, command unitCommand, read func(gatherer, *RuntimeFacts, unitCommand)) {
	for _, file := range rt.SetBy {
		if g.without = file; path.Base(file) == OwnDropIn || path.Base(file) == OwnTOML {
			others := RuntimeFacts{ConfigFile: rt.ConfigFile}
			read(g, &others, command)
			rt.ByOthers = &CNIDirs{others.BinDirs, others.ConfDir}
			return
		}
	}
}

// HasDefaultDirs reports whether the runtime uses the default directories for confs and plugins.
func (rt RuntimeFacts) HasDefaultDirs() bool {
	return rt.ConfDir == defaultCNIConf && slices.Equal(rt.BinDirs, []string{defaultCNIBin})
}

// Without returns the facts as if the given keys were removed from the runtime's own file: their
// values are the defaults again.
func (rt RuntimeFacts) Without(keys []string) RuntimeFacts {
	dirs := cmp.Or(rt.ByOthers, &CNIDirs{rt.BinDirs, rt.ConfDir})
	rt.ByOthers = &CNIDirs{dirs.BinDirs, dirs.ConfDir}
	for _, key := range keys {
		switch key {
		case "conf_dir":
			rt.ByOthers.ConfDir = defaultCNIConf
		case "bin_dir", "bin_dirs":
			rt.ByOthers.BinDirs = []string{defaultCNIBin}
		}
	}
	return rt
}

// runtimeKind returns the runtime that kubelet's endpoint names, or else the first one that runs or
// starts at boot. CRI-O that starts at boot counts while it is stopped: otherwise its plugins would
// be removed when it is restarted beside containerd. A socket alone shows that a runtime runs only
// where it has no unit: a runtime that was killed leaves its socket. A kubelet without an endpoint
// does not use CRI-O: it uses containerd, and before 1.24 docker.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/apis/config/v1beta1/defaults.go
func (g gatherer) runtimeKind() (best runtimeKind, of systemd.UnitFile) {
	score := 0
	kubelet := &g.facts.Kubelet
	for _, kind := range runtimeKinds {
		unit, ok := g.unitFile("read the unit of "+kind.name, kind.unit)
		points := 0
		switch {
		case kind.namedBy(kubelet.RuntimeEndpoint), ok && g.listens(kind, unit):
			points = 4
		case (!ok || unit.Masked) && g.socket(kind) == "":
		case kind.name == "cri-o" && kubelet.Unit != "" && kubelet.RuntimeEndpoint == "":
			points = 1
		case !ok, kind.name != docker.name && g.startsAtBoot(kind):
			points = 3
		default:
			points = 2
		}
		if points > score {
			best, of, score = kind, unit, points
		}
	}
	return best, of
}

// startsAtBoot reports whether the service of a runtime runs, or starts when the machine boots.
func (g gatherer) startsAtBoot(kind runtimeKind) bool {
	state := g.serviceState(kind.unit, "multi-user.target")
	return state == ServiceRunning || state == ServiceEnabled
}

// listens reports whether a runtime listens at kubelet's endpoint by its own files, where no part
// of the endpoint is a usual name.
func (g gatherer) listens(kind runtimeKind, unit systemd.UnitFile) bool {
	socket, ok := strings.CutPrefix(g.facts.Kubelet.RuntimeEndpoint, "unix://")
	if !ok || slices.ContainsFunc(runtimeKinds, func(k runtimeKind) bool { return k.namedBy(socket) }) {
		return false
	}
	g.without = "-" // the files are read again, and then their problems are recorded
	command := commandOf(unit, g.files)
	main := cmp.Or(command.option("CONTAINER_CONFIG", "config", "c"), kind.config)
	address := ""
	switch kind.name {
	case "containerd":
		for _, f := range g.containerdFiles(main) {
			address = cmp.Or(containerdAddress(f.tables), address)
		}
		address = cmp.Or(command.flag("address", "a"), address)
	case "cri-o":
		for _, file := range g.crioConfigs(main, command) {
			t, _ := g.toml(file)
			address = cmp.Or(text(table(t, "crio", "api")["listen"]), address)
		}
		address = cmp.Or(command.option("CONTAINER_LISTEN", "listen"), address)
	}
	return address == socket
}

// namedBy reports whether an endpoint contains the name of the runtime or of one of its sockets.
func (k runtimeKind) namedBy(endpoint string) bool {
	return slices.ContainsFunc(append([]string{k.name}, k.sockets...), func(s string) bool {
		return strings.Contains(endpoint, path.Base(s))
	})
}

// socket returns the runtime's socket, or "" if it does not exist.
func (g gatherer) socket(kind runtimeKind) string {
	sockets := kind.sockets
	if e, ok := strings.CutPrefix(g.facts.Kubelet.RuntimeEndpoint, "unix://"); ok && kind.namedBy(e) {
		sockets = append([]string{e}, sockets...)
	}
	for _, s := range sockets {
		if info, err := g.files.Lstat(s); err == nil && info.Type == hostfs.Other {
			return s
		}
	}
	return ""
}

// effective adds what the runtime reports about itself.
func (g gatherer) effective(rt *RuntimeFacts, s cri.Status) {
	rt.NetworkReady, rt.NetworkReason = s.NetworkReady, s.NetworkReason
	if rt.Name == "cri-o" {
		rt.crioRuns(s.Info["toml"])
	}
	if rt.Name != "containerd" {
		return
	}
	if rt.ConfigVersion == 0 { // no file: the newest version that it supports
		rt.ConfigVersion = 3
		if strings.HasPrefix(rt.Version, "1.") {
			rt.ConfigVersion = 2
		}
	}
	var config struct {
		CNI *struct {
			BinDir       string   `json:"binDir"`
			BinDirs      []string `json:"binDirs"`
			ConfDir      string   `json:"confDir"`
			MaxConfNum   int      `json:"maxConfNum"`
			ConfTemplate string   `json:"confTemplate"`
			Loopback     bool     `json:"useInternalLoopback"`
		} `json:"cni"`
	}
	if err := json.Unmarshal([]byte(s.Info["config"]), &config); err != nil || config.CNI == nil {
		return
	}
	cni := config.CNI
	rt.BinDirs, rt.ConfDir = allAbsolute(cni.BinDirs), absolute(cni.ConfDir)
	if len(rt.BinDirs) == 0 && cni.BinDir != "" {
		rt.BinDirs = []string{absolute(cni.BinDir)}
	}
	rt.MaxConfNum, rt.ConfTemplate, rt.From = cni.MaxConfNum, cni.ConfTemplate, "cri status"
	rt.InternalLoopback = cni.Loopback
	g.loadedConf(rt, s.Info)
}

// RuntimeUnit returns the unit of a container runtime, by its name in [RuntimeFacts]; "" if
// unknown.
func RuntimeUnit(name string) string {
	for _, kind := range runtimeKinds {
		if kind.name == name {
			return kind.unit
		}
	}
	return ""
}
