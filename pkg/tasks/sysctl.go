package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/problem"
)

// Sysctl is one key of the running kernel. Apply writes it and reads it back. The file that sets it
// at boot is a [File] task of its own.
type Sysctl struct {
	Meta
	Key   string // with dots; a slash stands for a dot inside a name
	Value string
	// Optional says that a kernel without this key is no error.
	Optional bool
}

var (
	_ Task     = Sysctl{}
	_ needer   = Sysctl{}
	_ Restorer = Sysctl{}
)

// ipForward turns IPv4 forwarding on and off. A write changes other keys of net.ipv4.conf
// (accept_redirects), so it comes first.
const ipForward = "net.ipv4.ip_forward"

// Owns implements [Task].
func (t Sysctl) Owns() []graph.Key { return []graph.Key{SysctlKey(t.Key)} }

// needs implements [needer]: the module or link that has the key, and the keys whose later write
// would change this one.
func (t Sysctl) needs() []graph.Key {
	needs := append([]graph.Key(nil), t.Requires...)
	key := SysctlKey(t.Key).Name()
	if m := kernel.SysctlModule(key); m != "" {
		needs = append(needs, graph.MakeKey(KindModule, m))
	}
	if link := kernel.SysctlLink(key); link != "" {
		needs = append(needs, graph.MakeKey(KindLink, link))
	}
	for _, first := range sysctlsBefore(key) {
		needs = append(needs, graph.MakeKey(KindSysctl, first))
	}
	return needs
}

// Plan implements [Task].
func (t Sysctl) Plan(_ context.Context, v host.View) (*Change, error) {
	key, err := kernel.CanonicalSysctl(t.Key)
	if err != nil {
		return nil, err
	}
	have, err := v.Kernel.Sysctl(key)
	if err == nil && kernel.SameSysctl(key, have, t.Value) {
		return nil, nil
	}
	item := Item{Key: t.Owns()[0], Op: Update, Fields: []Field{{Name: "value", Before: have, After: t.Value}}}
	change := &Change{Items: []Item{item}, Reason: "value differs"}
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		change.NotApplicable = "no running kernel under this root"
		return change, nil
	case kernel.ScopeOf(key) == kernel.ScopeHost && !v.Facts.Kernel.HostSysctls:
		change.NotApplicable = "host-wide, not set here"
		return change, nil
	case errors.Is(err, host.ErrNotExist):
		return t.planMissing(v, key, change)
	case err != nil && !errors.Is(err, kernel.ErrNoValue):
		return nil, err
	}
	change.Disruption = sysctlDisruption(key, t.Value)
	return change, nil
}

// planMissing plans a key that the kernel does not have now.
func (t Sysctl) planMissing(v host.View, key string, change *Change) (*Change, error) {
	module, link := kernel.SysctlModule(key), kernel.SysctlLink(key)
	change.Items[0].Op = Create
	switch {
	case module != "" && willExist(v, graph.MakeKey(KindModule, module)):
		change.Reason = "absent until module " + module + " is loaded"
		return change, nil
	case link != "" && willExist(v, LinkKey(link)):
		change.Reason = "absent until link " + link + " exists"
		return change, nil
	case t.Optional:
		return nil, nil
	case link != "":
		return nil, graph.Wait("link " + link)
	case module != "" && hasModule(v, module):
	case module != "" && !v.Facts.Kernel.Modules:
		change.NotApplicable = "not here before the host loads module " + module
		return change, nil
	case module != "":
		return nil,
			problem.Missing("plan sysctl %s: the kernel has it only with module %s, which is not loaded: load it",
				t.Key, module)
	}
	return nil, problem.Missing("plan sysctl %s: kernel %s has no such key: correct its name or remove it",
		t.Key, v.Facts.Kernel.Release)
}

// hasModule reports whether the kernel has a module, and so all keys of it. It is false in a
// container, which does not see all keys.
func hasModule(v host.View, name string) bool {
	state, err := v.Kernel.Module(name)
	return err == nil && v.Facts.Contain == "" && (state == kernel.ModuleLoaded || state == kernel.ModuleBuiltin)
}

// sysctlDisruption returns what a write of a key does to the node's own packets, for plans and for
// a reset. It does not decide whether the change needs a checkpoint: see harmless_sysctl.go.
// Turning IPv4 forwarding on does not affect them, nor does a key of the agent's own link.
func sysctlDisruption(key, value string) Disruption {
	link, leaf := kernel.SysctlLink(key), key[strings.LastIndexByte(key, '.')+1:]
	switch {
	case key == ipForward:
		return onlyOff(value)
	case !strings.HasPrefix(key, "net.ipv4.") && !strings.HasPrefix(key, "net.ipv6."), strings.HasPrefix(link, "cbr"):
		return NoDisruption
	case strings.HasPrefix(key, "net.ipv4.conf.") && leaf == "forwarding":
		return onlyOff(value)
	case cutting[leaf], cutting[key]:
		return MayCutOff
	}
	return NoDisruption
}

func onlyOff(value string) Disruption {
	if value == "0" {
		return MayCutOff
	}
	return NoDisruption
}

// cutting are keys with which a host may lose its routes, its addresses or the answers to its
// packets (https://docs.kernel.org/networking/ip-sysctl.html). Of keys that each link has, it has
// the last part, of the others the whole key.
var cutting = map[string]bool{
	"forwarding": true, "mc_forwarding": true, "accept_ra": true, "accept_ra_defrtr": true, "accept_ra_pinfo": true,
	"accept_ra_min_hop_limit": true,
	"autoconf":                true, "disable_ipv6": true, "mtu": true, "hop_limit": true, "addr_gen_mode": true,
	"stable_secret": true,
	"accept_dad":    true, "force_forwarding": true,
	"arp_ignore": true, "arp_announce": true, "arp_filter": true, "arp_accept": true, "rp_filter": true,
	"accept_local": true, "src_valid_mark": true, "route_localnet": true,
	"drop_unicast_in_l2_multicast": true, "disable_policy": true, "disable_xfrm": true,
	"ignore_routes_with_linkdown": true,
	"net.ipv4.ip_default_ttl":     true, "net.ipv4.icmp_echo_ignore_all": true, "net.ipv4.ip_nonlocal_bind": true,
}

// Apply implements [Task].
func (t Sysctl) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return h.Kernel.SetSysctl(ctx, t.Key, t.Value)
}

// Live implements [StateReader]. An empty value is not a missing key: "=" stands before each value.
// A key that has no value yet counts as missing, because no write removes a value again.
func (t Sysctl) Live(_ context.Context, v host.View) (string, error) {
	have, err := v.Kernel.Sysctl(SysctlKey(t.Key).Name())
	if errors.Is(err, host.ErrNotExist) || errors.Is(err, kernel.ErrNoValue) {
		return "", nil
	}
	return "=" + have, err
}

// Baseline implements [Restorer]: the value, and the values of keys that the kernel may change with
// it.
func (t Sysctl) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	live, err := t.Live(ctx, v)
	if err != nil || live == "" {
		return Baseline{Live: live}, err
	}
	b := Baseline{Live: live}
	if along := sysctlsResetBy(v, SysctlKey(t.Key).Name()); len(along) > 0 {
		b.Data, err = json.Marshal(along)
	}
	return b, err
}

// Restored implements [Restorer]. Where the link is gone, or the key did not exist before, there is
// nothing to restore.
func (t Sysctl) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	live, err := t.Live(ctx, v)
	return live == b.Live || live == "" || b.Live == "", err
}

// Restore implements [Restorer]. It also restores the keys that the kernel changed with this write.
func (t Sysctl) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	key := SysctlKey(t.Key).Name()
	before := sysctlsResetBy(h.Live.View(), key)
	if err := h.Kernel.SetSysctl(ctx, key, strings.TrimPrefix(b.Live, "=")); err != nil || len(b.Data) == 0 {
		return err
	}
	var was map[string]string
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore sysctl %s: %w", key, err)
	}
	after := sysctlsResetBy(h.Live.View(), key)
	var errs []error
	for _, other := range slices.Sorted(maps.Keys(was)) {
		if now, there := after[other]; there && now != before[other] && now != was[other] {
			errs = append(errs, h.Kernel.SetSysctl(ctx, other, was[other]))
		}
	}
	return errors.Join(errs...)
}
