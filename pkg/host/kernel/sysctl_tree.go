package kernel

import (
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// NetSysctls returns all keys of net.* that can be read and written here, with their values. Keys
// of scope host are included if they may be set. Each link has 130 keys, so a node full of pods has
// fourteen thousand, and most links have the same settings. rtnetlink reports in two answers which
// links have equal settings. Those keys are read only once. With 110 pods this takes 15 ms; reading
// all took 100 ms. If links change meanwhile, every key is read. It is called before and after each
// change that takes a checkpoint.
func (w *Writer) NetSysctls(ctx context.Context) map[string]string {
	if !w.kernel.Live {
		return nil
	}
	before := w.linkSettings(ctx)
	out := w.readSysctls(before)
	if len(before) > 0 && !maps.Equal(before, w.linkSettings(ctx)) {
		out = w.readSysctls(nil)
	}
	return out
}

// stablePrivacy is the addr_gen_mode in which a link makes addresses from its stable_secret. In
// other modes the secret is not used, and it is not read from each link: a reader uses all of its
// processor until the kernel's lock for links is free (net/ipv6/addrconf.c,
// addrconf_sysctl_stable_secret).
const stablePrivacy = "2"

func (w *Writer) linkSettings(ctx context.Context) map[string]string {
	if w.opt.LinkSettings == nil {
		return nil
	}
	out, err := w.opt.LinkSettings(ctx)
	if err != nil {
		return nil // each key is read
	}
	return out
}

// sysctlReader reads the keys below a directory. It opens each key relative to its directory and
// reads it once: to open the whole path twice took five times as long.
type sysctlReader struct {
	host     bool              // also keys of scope host
	room     []byte            // buffer for one value of usual length
	settings map[string]string // see [Options.LinkSettings]
	first    map[string]keys   // keys of the first directory, by parent and settings
	out      map[string]string

	ofIPv6, ofNeighbours []string // keys that rtnetlink reports
}

// keys are the keys of a directory.
type keys struct {
	shared map[string]string // names and values that rtnetlink reports
	rest   []string          // the other names
}

func (w *Writer) readSysctls(settings map[string]string) map[string]string {
	r := sysctlReader{host: w.opt.HostSysctls, room: make([]byte, os.Getpagesize()), settings: settings,
		first: map[string]keys{}, out: map[string]string{},
		ofIPv6: strings.Fields(ipv6Settings), ofNeighbours: strings.Fields(neighbourSettings)}
	r.below(unix.AT_FDCWD, w.kernel.Proc+"/sys/net", "net")
	return r.out
}

// below adds the keys of a directory. name is its name in the open directory parent, dir its path
// below /proc/sys. It leaves out what cannot be read now (a link that disappears, a key that needs
// more rights).
func (r *sysctlReader) below(parent int, name, dir string) {
	settings := r.settings[dir]
	like := path.Dir(dir) + " " + settings
	first, known := r.first[like]
	prefix := swapSeparators(dir + "/")
	for name, value := range first.shared {
		r.out[prefix+name] = value
	}
	if known && len(first.rest) == 0 {
		return
	}
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	at := os.NewFile(uintptr(fd), dir)
	defer at.Close() // only read
	if known {
		for _, name := range first.rest {
			r.read(fd, name, prefix)
		}
		return
	}
	entries, _ := at.ReadDir(-1)
	all := keys{shared: map[string]string{}}
	for _, e := range entries {
		if e.IsDir() {
			r.below(fd, e.Name(), dir+"/"+e.Name())
			continue
		}
		value, ok := r.read(fd, e.Name(), prefix)
		switch {
		case !r.inSettings(dir, e.Name()):
			all.rest = append(all.rest, e.Name())
		case ok:
			all.shared[swapSeparators(e.Name())] = value
		}
	}
	if settings != "" {
		if all.shared["addr_gen_mode"] != stablePrivacy {
			all.rest = slices.DeleteFunc(all.rest, func(name string) bool { return name == "stable_secret" })
		}
		r.first[like] = all
	}
}

// read adds a key that can be read and written. prefix is the prefix of all keys in its directory.
func (r *sysctlReader) read(fd int, name, prefix string) (value string, ok bool) {
	key := prefix + swapSeparators(name)
	if ScopeOf(key) == ScopeHost && !r.host {
		return "", false
	}
	if value, ok = readSysctl(fd, name, r.room); ok {
		r.out[key] = value
	}
	return value, ok
}

// inSettings reports whether rtnetlink reports a key of a link. For IPv4 it reports all keys
// (net/ipv4/devinet.c, inet_fill_link_af, devinet_sysctl). For the others a kernel may have keys
// that it does not report, so keys that are not in the lists below are read one by one.
func (r *sysctlReader) inSettings(dir, name string) bool {
	switch {
	case strings.HasPrefix(dir, "net/ipv4/conf/"):
		return true
	case strings.HasPrefix(dir, "net/ipv6/conf/"):
		return slices.Contains(r.ofIPv6, name)
	}
	return slices.Contains(r.ofNeighbours, name)
}

// The keys of net/ipv6/addrconf.c, ipv6_store_devconf: Linux 4.19, 5.15 and 6.18 each report all of
// these that they have. And the keys of net/core/neighbour.c, neightbl_fill_parms.
const (
	ipv6Settings = `
		accept_dad accept_ra accept_ra_defrtr accept_ra_from_local accept_ra_min_hop_limit accept_ra_min_lft
		accept_ra_mtu accept_ra_pinfo accept_ra_rt_info_max_plen accept_ra_rt_info_min_plen
		accept_ra_rtr_pref accept_redirects accept_source_route accept_untracked_na addr_gen_mode autoconf
		dad_transmits disable_ipv6 disable_policy drop_unicast_in_l2_multicast drop_unsolicited_na
		enhanced_dad force_mld_version force_tllao forwarding hop_limit ignore_routes_with_linkdown
		ioam6_enabled ioam6_id ioam6_id_wide keep_addr_on_down max_addresses max_desync_factor mc_forwarding
		mldv1_unsolicited_report_interval mldv2_unsolicited_report_interval mtu ndisc_evict_nocarrier
		ndisc_notify ndisc_tclass optimistic_dad proxy_ndp ra_defrtr_metric regen_max_retry
		router_probe_interval router_solicitation_delay router_solicitation_interval
		router_solicitation_max_interval router_solicitations rpl_seg_enabled seg6_enabled seg6_require_hmac
		suppress_frag_ndisc temp_prefered_lft temp_valid_lft use_oif_addrs_only use_optimistic use_tempaddr`
	neighbourSettings = `
		anycast_delay app_solicit base_reachable_time base_reachable_time_ms delay_first_probe_time
		gc_stale_time interval_probe_time_ms locktime mcast_resolicit mcast_solicit proxy_delay proxy_qlen
		retrans_time retrans_time_ms ucast_solicit unres_qlen unres_qlen_bytes`
)

// readSysctl reads a key that can be read and written. room is a buffer that fits most values.
func readSysctl(dir int, name string, room []byte) (value string, ok bool) {
	var info unix.Stat_t
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	if unix.Fstat(fd, &info) != nil || info.Mode&0o600 != 0o600 {
		return "", false
	}
	raw, err := sys.ReadOpenValue(fd, room)
	return sys.FoldSpace(string(raw)), err == nil
}
