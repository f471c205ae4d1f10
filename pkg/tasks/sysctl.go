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
)

// Sysctl is one key of the running kernel, written and read back. The file
// that keeps it over a reboot is a [File] of its own.
type Sysctl struct {
	Meta
	Key   string // dotted, a slash for a dot inside a name
	Value string
	// Optional says that a kernel without this key is fine.
	Optional bool
}

var (
	_ Task     = Sysctl{}
	_ needer   = Sysctl{}
	_ Restorer = Sysctl{}
)

// ipForward turns IPv4 forwarding on and off. Writing it changes other keys
// of net.ipv4.conf (accept_redirects), so it goes first.
const ipForward = "net.ipv4.ip_forward"

// Owns implements [Task].
func (t Sysctl) Owns() []graph.Key { return []graph.Key{SysctlKey(t.Key)} }

// needs implements [needer]: the module or link that brings the key, and the
// keys that would change this one when written later.
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
	case module != "" && v.Upcoming.WillExist(KindModule+":"+module):
		change.Reason = "absent until module " + module + " is loaded"
		return change, nil
	case link != "" && v.Upcoming.WillExist(KindLink+":"+link):
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
			fmt.Errorf("plan sysctl %s: the kernel has it only with module %s, which is not loaded: load it: %w",
				t.Key, module, host.ErrNotExist)
	}
	return nil, fmt.Errorf("plan sysctl %s: kernel %s has no such key: correct its name or remove it: %w",
		t.Key, v.Facts.Kernel.Release, host.ErrNotExist)
}

// hasModule says that the kernel has a module, and so all keys that it brings. A container does not
// see all of them.
func hasModule(v host.View, name string) bool {
	state, err := v.Kernel.Module(name)
	return err == nil && v.Facts.Contain == "" && (state == kernel.ModuleLoaded || state == kernel.ModuleBuiltin)
}

// sysctlDisruption says what writing a key is known to do to the node's own packets, for plans and
// for a reset. Whether there is a checkpoint is not decided here: see harmless_sysctl.go.
// Turning IPv4 forwarding on does nothing to them, nor does what is only for one of our links.
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

// cutting are the keys by which a host may lose its routes, its addresses or the answers to it
// (https://docs.kernel.org/networking/ip-sysctl.html): the last part of those that each link has,
// others whole.
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

// Live implements [StateReader]. A key that is empty is not absent: "=" stands before its value.
// One that has no value yet is: nothing takes a value away again.
func (t Sysctl) Live(_ context.Context, v host.View) (string, error) {
	have, err := v.Kernel.Sysctl(SysctlKey(t.Key).Name())
	if errors.Is(err, host.ErrNotExist) || errors.Is(err, kernel.ErrNoValue) {
		return "", nil
	}
	return "=" + have, err
}

// Baseline implements [Restorer]: the value, and those that the kernel may write along with it.
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

// Restored implements [Restorer]. Of a link that is gone there is nothing to bring back, nor of a
// key that was absent.
func (t Sysctl) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	live, err := t.Live(ctx, v)
	return live == b.Live || live == "" || b.Live == "", err
}

// Restore implements [Restorer]. What the kernel writes along becomes what it was, where this write
// has changed it.
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
