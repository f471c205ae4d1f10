package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/netns"
)

// The table has each kind of value in two forms. The lines that keep it: sysctl_compare.go, kinds
// and SameSysctl.
func TestSameSysctl(t *testing.T) {
	const (
		ports  = "net.ipv4.ip_local_reserved_ports"
		secret = "net.ipv6.conf.eth0/100.stable_secret"
		words  = "net.ipv4.tcp_allowed_congestion_control"
		open   = "net.ipv4.tcp_fastopen_key"
		mask   = "net.core.rps_default_mask"
	)
	for _, c := range []struct {
		key, have, want string
		same            bool
	}{
		{"net.ipv4.tcp_rmem", "4096\t87380\t16777216", "4096 87380 16777216", true},
		{"net.ipv4.tcp_rmem", "4096 87380", "4096 87380 16777216", false},
		{"net.ipv4.tcp_rmem", "4096 87380 16777216", "0x1000 87380", true},
		{"net.ipv4.tcp_rmem", "4096 87380 16777216", "4096 8738", false},
		{"net.ipv4.tcp_rmem", "4096 87380 16777216", "", false},
		{"kernel.x", "0x10", "16", true},
		{"kernel.x", "010", "8", true},
		{"kernel.x", "1", "2", false},
		{"kernel.core_pattern", "|/bin/x %p", "|/bin/x", false},
		{"net.core.default_qdisc", "fq", "fq_codel", false},
		{ports, "30000-32767,8080", "8080,30000-32767", true},
		{ports, "1,2,3-5", "1-5", true},
		{ports, "8,16", "0x10,010", true},
		{ports, "", "", true},
		{ports, "8080", "8081", false},
		{ports, "8080", "x", false},
		{"net.ipv6.icmp.ratemask", "0-1,3-127", "3-127,1,0", true},
		{"kernel.watchdog_cpumask", "0-1", "0,1", true},
		{secret, "fe80:0000:0000:0000:0000:0000:0000:0001", "FE80::1", true},
		{secret, "fe80:0000:0000:0000:0000:0000:0000:0001", "fe80::2", false},
		{secret, "fe80:0000:0000:0000:0000:0000:0000:0001", "1", false},
		{open, "aabbccdd-00000001-00000002-00000003", "AABBCCDD-1-2-3", true},
		{open, "aabbccdd-00000001-00000002-00000000,00000001-00000002-00000003-00000010", "AABBCCDD-1-2-0, 1-2-3-10", true},
		{open, "aabbccdd-00000001-00000002-00000003,00000001-00000002-00000003-00000004", "AABBCCDD-1-2-3", false},
		{mask, "f", "0F", true},
		{mask, "0000000f,00000000", "f,0", true},
		{mask, "00000000,00000003", "3", true},
		{mask, "00000000", "0", true},
		{mask, "8", "010", false},
		{mask, "00000003,00000000", "3", false},
		{"net.core.flow_limit_cpu_bitmap", "0000,0000000a", "A", true},
		{"net.netfilter.nf_log.2", "nf_log_ipv4", "NF_LOG_IPv4", true},
		{words, "reno bbr", "bbr reno", true},
		{words, "reno bbr", "bbr", false},
		{"kernel.panic_sys_info", "tasks,mem", "mem,tasks", true},
		{"kernel.seccomp.actions_logged", "kill_thread log", "log kill_thread", true},
	} {
		if got := SameSysctl(c.key, c.have, c.want); got != c.same {
			t.Errorf("%s has %q, and %q is wanted: same is %v", c.key, c.have, c.want, got)
		}
	}
}

// Each key of the running kernel accepts the value that it prints, and then prints the same. If it
// accepts a value in another form and prints its own, the two are the same value. The lines that
// keep it: sysctl_compare.go, kinds and SameSysctl; sysctl_read.go, Sysctl (EIO).
func TestEachSysctlIsOfAKind(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "v0.100", "type", "veth", "peer", "name", "v1")
	ns.Do(func() {
		h := NewWriter(Open(true), Options{})
		for key, value := range map[string]string{
			"net.ipv6.conf.v1.stable_secret":     "fe80::1",
			"net.ipv4.tcp_fastopen_key":          "AABBCCDD-1-2-0,5-6-7-8",
			"net.core.rps_default_mask":          "1",
			"net.ipv4.ip_local_reserved_ports":   "30-20000,9",
			"net.ipv4.ping_group_range":          "0 100",
			"net.ipv6.conf.v0/100.stable_secret": "::ab:1",
		} {
			if err := h.SetSysctl(t.Context(), key, value); err != nil {
				t.Error(err)
			}
		}
		unset, others := 0, map[string]int{}
		for key, mode := range sysctlModes(t) {
			if mode&0o600 != 0o600 || ScopeOf(key) == ScopeHost {
				continue
			}
			have, err := h.kernel.Sysctl(key)
			if errors.Is(err, ErrNoValue) {
				unset++
				continue
			}
			if err == nil {
				err = h.SetSysctl(t.Context(), key, have)
			}
			if err != nil {
				t.Errorf("what a key says: %v", err)
				continue
			}
			for name, text := range otherTexts(have) {
				if sys.WriteKernelFile(h.kernel.sysctlFile(key), text) != nil {
					continue
				}
				got, err := h.kernel.Sysctl(key)
				switch {
				case err != nil:
					t.Error(err)
				case got != have: // another value
					if err := h.SetSysctl(t.Context(), key, have); err != nil {
						t.Error(err)
					}
				case !SameSysctl(key, got, text):
					t.Errorf("%s says %q after %q, and that is not the same", key, got, text)
				default:
					others[name]++
				}
			}
		}
		if unset == 0 || len(others) != len(otherTexts("")) || others["hex"] < 300 {
			t.Errorf("%d keys without a value, and of others %v", unset, others)
		}
	})
}

// otherTexts returns a value in other forms. Some keys accept these as the same value, and others
// do not.
func otherTexts(value string) map[string]string {
	fields := strings.Fields(value)
	first := strings.Join(fields[:min(len(fields), 1)], "")
	each := func(format string) string {
		var out []string
		for _, field := range fields {
			if n, err := strconv.Atoi(field); err == nil {
				field = fmt.Sprintf(format, n)
			}
			out = append(out, field)
		}
		return strings.Join(out, "\t ")
	}
	zero := "0"
	if strings.Contains(value, ":") {
		zero = "" // the kernel accepts five digits between two colons, but nobody writes them
	}
	items := strings.Split(value, ",")
	slices.Reverse(items)
	return map[string]string{"hex": each("%#x"), "octal": each("%#o"), "upper": strings.ToUpper(value), "first": first,
		"zero before": zero + value, "no zeros": strings.ReplaceAll(value, "0000000", ""), "order": strings.Join(items, ","),
		"short address": strings.ReplaceAll(value, "0000:0000:0000:0000:0000", ":")}
}
