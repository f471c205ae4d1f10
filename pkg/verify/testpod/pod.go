// Package testpod adds pods as a container runtime does, with the CNI conf and plugins that the
// runtime would use.
//
// The plugins change the host, and [Pod.Remove] undoes that. A plugin may still leave things, such
// as a bridge or an empty chain. The package does not prove that a container runtime has loaded the
// conf.
package testpod

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/verify/probe"
)

// Cache is where libcni stores what a DEL needs. It is not the runtime's cache: test pods do not
// stay over a boot, and no other program may delete them.
const Cache = "/run/netwright/cni"

// ErrNoConf says that the directory has no conf: there is no network yet.
var ErrNoConf = errors.New("no CNI conf")

// Options says which pod to add.
type Options struct {
	// Name is the name of the pod and its container ID, and after "netwright-" the name of its
	// network namespace. Calico's plugin names the pod's link by the first 11 characters of the ID,
	// and removes a link of that name: so pods that exist at the same time must differ in these
	// characters.
	Name string
	// ConfDir is the directory of confs. As runtimes do, Add uses the first by name:
	// /etc/cni/net.d.
	ConfDir string
	// BinDirs are the directories of plugins: /opt/cni/bin.
	BinDirs []string
	// PortMappings are passed to a conf with the capability portMappings.
	PortMappings []PortMapping
}

// PortMapping maps a port of the host to a port of the pod. The JSON names are those of CNI's
// conventions.
type PortMapping struct {
	HostPort      int    `json:"hostPort"`
	ContainerPort int    `json:"containerPort"`
	Protocol      string `json:"protocol"` // tcp, udp, sctp
}

// Pod is a network namespace with an interface eth0 that the plugins made.
type Pod struct {
	Name      string
	Network   string         // the name in the conf
	ConfFile  string         // the conf that was used
	NetNS     string         // a file of the namespace
	Addresses []netip.Prefix // in the order of the plugins' result
	Gateways  []netip.Addr   // of those addresses, where they have one

	host *host.Host
	cni  *libcni.CNIConfig
	list *libcni.NetworkConfigList
	rt   *libcni.RuntimeConf
	ns   string
}

// Add makes a network namespace and adds it to the network as a container runtime would. After an
// error it removes everything, as far as the plugins' DEL does. The caller must call Remove. Such a
// pod is only for tests: kubelet does not know it.
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
		// removed also where ctx has ended
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), 30*time.Second,
			errors.New("taking the pod back took too long"))
		defer cancel()
		return nil,
			errors.Join(fmt.Errorf("add pod %s to network %s (%s): %w", opt.Name, list.Name, file, err), p.Remove(ctx))
	}
	return p, nil
}

// newPod returns a pod that is not added yet.
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

// Address returns the pod's address in the family of another address; the zero address if it has
// none.
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

// Clear removes what a killed run left of a pod with this name. libcni's cache has the conf with
// which the pod was added. Without a cache entry, Clear calls DEL with the conf in force, which is
// no error for a pod that never existed (CNI's DEL). With lost it does so also where nothing shows
// that there was a pod, because a boot removes the cache but leaves addresses allocated. It may be
// retried.
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

// Remove removes the pod from the network, and its namespace. It may be called again after an
// error, and for a pod that is gone.
func (p *Pod) Remove(ctx context.Context) error {
	var failed []error
	if err := p.cni.DelNetworkList(ctx, p.list, p.rt); err != nil {
		failed = append(failed, fmt.Errorf("remove pod %s from network %s: %w", p.Name, p.Network, err))
	}
	failed = append(failed, p.host.Net.DelNetNS(ctx, p.ns))
	return errors.Join(failed...)
}

// LoadConf reads the conf that a runtime would use: the first by name.
func LoadConf(dir string) (string, *libcni.NetworkConfigList, error) {
	files, err := libcni.ConfFiles(dir, []string{".conf", ".conflist", ".json"})
	if err != nil {
		return "", nil, fmt.Errorf("look for CNI confs in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return "", nil,
			fmt.Errorf("%w in %s: converge the node first, or wait for its network's DaemonSet", ErrNoConf, dir)
	}
	file := slices.Min(files)
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
