// Package testpod adds pods as a container runtime does, through the CNI conf and plugins that the
// runtime would use.
//
// It changes the host by what the plugins do and takes that back with [Pod.Remove]; a plugin may
// leave something behind all the same, such as a bridge or an empty chain. It does not prove that a
// container runtime has loaded the conf.
package testpod

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/verify/probe"
)

// Cache is where libcni keeps what a DEL needs to know. It is not the
// runtime's: our pods do not outlive a boot, and nobody else shall delete them.
const Cache = "/run/netwright/cni"

// ErrNoConf says that there is no network yet: no conf in the directory.
var ErrNoConf = errors.New("no CNI conf")

// Options says which pod to add.
type Options struct {
	// Name of the pod and its container ID, and with "netwright-" before it of its network
	// namespace. Calico's plugin calls the pod's link by the first 11 characters of the ID, and
	// takes away one of that name: pods that are there at one time differ in those.
	Name string
	// ConfDir has the confs, of which the first by name is taken, as runtimes do: /etc/cni/net.d.
	ConfDir string
	// BinDirs have the plugins: /opt/cni/bin.
	BinDirs []string
	// PortMappings are asked of a conf that has the capability portMappings.
	PortMappings []PortMapping
}

// PortMapping makes a port of the pod one of the host. The names are those of
// CNI's conventions.
type PortMapping struct {
	HostPort      int    `json:"hostPort"`
	ContainerPort int    `json:"containerPort"`
	Protocol      string `json:"protocol"` // tcp, udp, sctp
}

// Pod is a network namespace with an interface eth0 that the plugins made.
type Pod struct {
	Name      string
	Network   string         // the name in the conf
	ConfFile  string         // the conf that was taken
	NetNS     string         // a file that stands for the namespace
	Addresses []netip.Prefix // in the order of the plugins' result
	Gateways  []netip.Addr   // of those addresses that have one

	host *host.Host
	cni  *libcni.CNIConfig
	list *libcni.NetworkConfigList
	rt   *libcni.RuntimeConf
	ns   string
}

// Add makes a network namespace and adds it to the network as a container
// runtime would. When that fails nothing of it stays, as far as the plugins'
// DEL goes. The caller removes the pod. It is not for pods that run something:
// kubelet does not know of it.
func Add(ctx context.Context, h *host.Host, opt Options) (*Pod, error) {
	file, list, err := LoadConf(opt.ConfDir)
	if err != nil {
		return nil, fmt.Errorf("add pod %s: %w", opt.Name, err)
	}
	p := newPod(h, opt)
	p.Network, p.ConfFile, p.list = list.Name, file, list
	if _, err = h.Net.AddNetNS(ctx, p.ns); err != nil {
		return nil, fmt.Errorf("add pod %s: %w", opt.Name, err)
	}
	if len(opt.PortMappings) > 0 {
		p.rt.CapabilityArgs = map[string]any{"portMappings": opt.PortMappings}
	}
	if err := p.add(ctx); err != nil {
		// Taken back even when ctx is what ended.
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), 30*time.Second,
			errors.New("taking the pod back took too long"))
		defer cancel()
		return nil,
			errors.Join(fmt.Errorf("add pod %s to network %s (%s): %w", opt.Name, list.Name, file, err), p.Remove(ctx))
	}
	return p, nil
}

// newPod is a pod that has yet to be added.
func newPod(h *host.Host, opt Options) *Pod {
	ns := "netwright-" + opt.Name
	p := &Pod{Name: opt.Name, NetNS: rtnl.NetNSFile(ns), host: h, ns: ns,
		cni: libcni.NewCNIConfigWithCacheDir(opt.BinDirs, Cache, Exec{Host: h})}
	p.rt = &libcni.RuntimeConf{ContainerID: opt.Name, NetNS: p.NetNS, IfName: "eth0", CacheDir: Cache}
	return p
}

func (p *Pod) add(ctx context.Context) error {
	raw, err := p.cni.AddNetworkList(ctx, p.list, p.rt)
	if err != nil {
		return err
	}
	result, err := types100.NewResultFromResult(raw)
	if err != nil {
		return fmt.Errorf("read the plugins' result: %w", err)
	}
	for _, ip := range result.IPs {
		bits, _ := ip.Address.Mask.Size()
		addr, _ := netip.AddrFromSlice(ip.Address.IP)
		p.Addresses = append(p.Addresses, netip.PrefixFrom(addr.Unmap(), bits))
		if gw, ok := netip.AddrFromSlice(ip.Gateway); ok {
			p.Gateways = append(p.Gateways, gw.Unmap())
		}
	}
	if len(p.Addresses) == 0 {
		return errors.New("the plugins gave the pod no address")
	}
	return nil
}

// Address is the pod's address of the family of another; the zero address if it has none.
func (p *Pod) Address(as netip.Addr) netip.Addr {
	for _, a := range p.Addresses {
		if a.Addr().Is4() == as.Is4() {
			return a.Addr()
		}
	}
	return netip.Addr{}
}

// Ping sends echoes from the pod: see [probe.Ping].
func (p *Pod) Ping(ctx context.Context, to netip.Addr) (time.Duration, error) {
	took, err := probe.Ping(ctx, p.NetNS, to, 0)
	if err != nil {
		return 0, fmt.Errorf("from pod %s: %w", p.Name, err)
	}
	return took, nil
}

// Clear takes away what a pod of that name left that nobody removed: a killed run's. What is
// cached of it says by which conf it was added; else the conf in force is asked to delete it, which
// for a pod that never was is success (CNI's DEL): with lost also where nothing shows that there
// was one, since a boot takes the traces and leaves addresses given out. It may be retried.
func Clear(ctx context.Context, h *host.Host, opt Options, lost bool) error {
	p := newPod(h, opt)
	cached, err := p.cni.GetCachedAttachments(p.rt.ContainerID)
	if err != nil {
		return fmt.Errorf("look for what is left of pod %s: %w", opt.Name, err)
	}
	for _, a := range cached {
		if p.list, err = libcni.NetworkConfFromBytes(a.Config); err != nil {
			return fmt.Errorf("read by what pod %s was added: %w", opt.Name, err)
		}
		p.Network, p.rt.CapabilityArgs = a.Network, a.CapabilityArgs
		if err := p.Remove(ctx); err != nil {
			return err
		}
	}
	_, gone := h.Live.Files.Lstat(p.rt.NetNS)
	if len(cached) > 0 || !lost && errors.Is(gone, host.ErrNotExist) {
		return nil
	}
	if _, p.list, err = LoadConf(opt.ConfDir); errors.Is(err, ErrNoConf) {
		return h.Net.DelNetNS(ctx, p.ns)
	} else if err != nil {
		return fmt.Errorf("clear pod %s: %w", opt.Name, err)
	}
	p.Network = p.list.Name
	return p.Remove(ctx)
}

// Remove takes the pod off the network and its namespace away. It may be
// called again after an error, and for a pod that is gone.
func (p *Pod) Remove(ctx context.Context) error {
	var failed []error
	if err := p.cni.DelNetworkList(ctx, p.list, p.rt); err != nil {
		failed = append(failed, fmt.Errorf("remove pod %s from network %s: %w", p.Name, p.Network, err))
	}
	failed = append(failed, p.host.Net.DelNetNS(ctx, p.ns))
	return errors.Join(failed...)
}

// LoadConf reads the conf that a runtime would take: the first by name.
func LoadConf(dir string) (string, *libcni.NetworkConfigList, error) {
	files, err := libcni.ConfFiles(dir, []string{".conf", ".conflist", ".json"})
	if err != nil {
		return "", nil, fmt.Errorf("look for CNI confs in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return "", nil,
			fmt.Errorf("%w in %s: converge the node first, or wait for its network's DaemonSet", ErrNoConf, dir)
	}
	file := files[0]
	for _, f := range files {
		file = min(file, f)
	}
	var list *libcni.NetworkConfigList
	if strings.HasSuffix(file, ".conflist") {
		list, err = libcni.ConfListFromFile(file)
	} else {
		var one *libcni.PluginConfig
		//lint:ignore SA1019 a runtime still takes a single plugin's conf
		if one, err = libcni.ConfFromFile(file); err == nil {
			//lint:ignore SA1019 and makes a list of it
			list, err = libcni.ConfListFromConf(one)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("read CNI conf %s: %w", file, err)
	}
	return file, list, nil
}
