// Package reset tests on a booted node that every kind of task can be removed again. Prune removes
// what was ours, reset restores what was before, and neither touches what somebody else changed
// meanwhile. A snapshot from before, made by ip, nft, stat and systemctl, is the truth.
package reset

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// scenario has tasks of one kind, and the state of the node before them.
type scenario struct {
	name   string
	before string // a script that makes the state
	want   []tasks.Task
	is     string // a script that succeeds when the tasks are done
	// unpruned has words that prune's output has about things which it leaves; "" means that it
	// leaves nothing.
	unpruned []string
	lost     []string // what reset says that it cannot restore
	person   string   // a script of a person who changes a part of it
	stays    string   // a script that succeeds while that is as the person left it
	kept     []string
	forced   string // a script that succeeds if the change was overruled, or if something of theirs prevented that
}

func meta(then ...graph.Key) tasks.Meta { return tasks.Meta{From: "test", Effects: then} }

const sleeper = "[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n"

// theirs returns a command that writes another program's unit.
func theirs(name string) string {
	return "printf '" + strings.ReplaceAll(sleeper, "\n", `\n`) + "' >/etc/systemd/system/" + name + "; systemctl daemon-reload; "
}

var reload = tasks.Effect{Meta: meta(), Action: tasks.ActionDaemonReload}

func state(name string, enabled, active, masked *bool) tasks.UnitState {
	return tasks.UnitState{Meta: meta(), Name: name, Enabled: enabled, Active: active, Masked: masked}
}

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

// scenarios are all on one node at once: the names and addresses of each have its number.
var scenarios = []scenario{
	{
		name:   "unit",
		want:   []tasks.Task{reload, tasks.Unit{Meta: meta(), Name: "ours1.service", Content: []byte(sleeper)}, state("ours1.service", new(true), new(true), nil)},
		is:     "systemctl is-active ours1; systemctl is-enabled ours1",
		person: "echo '# theirs1' >>/etc/systemd/system/ours1.service; systemctl daemon-reload",
		stays:  "grep theirs1 /etc/systemd/system/ours1.service",
		kept:   []string{"file:/etc/systemd/system/ours1.service"},
	},
	{
		name:   "state of our unit, changed",
		want:   []tasks.Task{reload, tasks.Unit{Meta: meta(), Name: "ours2.service", Content: []byte(sleeper)}, state("ours2.service", new(true), new(true), nil)},
		is:     "systemctl is-active ours2",
		person: "systemctl disable ours2",
		stays:  "systemctl is-active ours2",
		kept:   []string{"unit:ours2.service"},
	},
	{
		name:   "drop-in",
		before: theirs("theirs3.service") + "systemctl start theirs3",
		want: []tasks.Task{reload, tasks.Effect{Meta: meta(), Action: tasks.ActionRestart, Unit: "theirs3.service", Wait: true},
			tasks.DropIn{Meta: meta(tasks.Restart("theirs3.service")), Unit: "theirs3.service", Name: "50-netwright.conf", Content: []byte("[Service]\nNice=3\n")}},
		is:     "systemctl show -p Nice theirs3 | grep =3",
		person: "echo '# theirs3' >>/etc/systemd/system/theirs3.service.d/50-netwright.conf",
		stays:  "systemctl is-active theirs3; grep theirs3 /etc/systemd/system/theirs3.service.d/50-netwright.conf",
		kept:   []string{"file:/etc/systemd/system/theirs3.service.d/50-netwright.conf"},
	},
	{
		name:     "state of their unit, from off to on",
		before:   theirs("theirs4.service"),
		want:     []tasks.Task{state("theirs4.service", new(true), new(true), nil)},
		is:       "systemctl is-active theirs4; systemctl is-enabled theirs4",
		unpruned: []string{"unit:theirs4.service is no longer wanted and stays: it was there before netwright"},
		person:   "systemctl stop theirs4",
		stays:    "systemctl is-enabled theirs4; test $(systemctl is-active theirs4) = inactive",
		kept:     []string{"unit:theirs4.service"},
	},
	{ // a link that the unit's file does not ask for, and old times
		name: "state of their unit, from on to off",
		before: theirs("theirs5.service") + "systemctl enable --now theirs5; mkdir -p /etc/systemd/system/graphical.target.wants; " +
			"ln -s ../theirs5.service /etc/systemd/system/graphical.target.wants/theirs5.service; " +
			"touch -h -d 2020-02-02 /etc/systemd/system/*.wants/theirs5.service /etc/systemd/system /etc/systemd/system/*.wants",
		want:     []tasks.Task{state("theirs5.service", new(false), new(false), nil)},
		is:       "test $(systemctl is-active theirs5) = inactive; ! test -e /etc/systemd/system/graphical.target.wants/theirs5.service",
		unpruned: []string{"unit:theirs5.service"},
	},
	{
		name:     "mask on their unit",
		before:   "printf '" + strings.ReplaceAll(sleeper, "\n", `\n`) + "' >/usr/lib/systemd/system/vendor6.service; systemctl daemon-reload; systemctl enable --now vendor6",
		want:     []tasks.Task{state("vendor6.service", nil, new(false), new(true))},
		is:       "test $(systemctl is-enabled vendor6) = masked; test $(systemctl is-active vendor6) = inactive",
		unpruned: []string{"unit:vendor6.service"},
	},
	{
		name:     "mask taken off",
		before:   "printf '" + strings.ReplaceAll(sleeper, "\n", `\n`) + "' >/usr/lib/systemd/system/vendor7.service; systemctl mask vendor7",
		want:     []tasks.Task{state("vendor7.service", nil, nil, new(false))},
		is:       "test $(systemctl is-enabled vendor7) = disabled",
		unpruned: []string{"unit:vendor7.service"},
	},
	{
		name: "mask for a unit that is not there",
		want: []tasks.Task{state("absent8.service", nil, nil, new(true))},
		is:   "test $(systemctl is-enabled absent8) = masked",
	},
	{
		name:     "static unit",
		before:   "printf '[Service]\\nExecStart=sleep 1000\\n' >/etc/systemd/system/static9.service; systemctl daemon-reload",
		want:     []tasks.Task{state("static9.service", nil, new(true), nil)},
		is:       "systemctl is-active static9; test $(systemctl is-enabled static9) = static",
		unpruned: []string{"unit:static9.service"},
	},
	{
		name:     "mount",
		want:     []tasks.Task{tasks.Mount{Meta: meta(), What: "tmpfs", Where: "/srv/ours10/mnt", Type: "tmpfs"}},
		is:       "findmnt /srv/ours10/mnt",
		unpruned: []string{"mount:/srv/ours10/mnt is no longer wanted and stays as it is"},
		person:   "echo data >/srv/ours10/mnt/data",
		stays:    "grep data /srv/ours10/mnt/data",
		forced:   "grep data /srv/ours10/mnt/data",
		kept:     []string{"mount:/srv/ours10/mnt"},
	},
	{
		name:     "mount of theirs",
		before:   "mkdir -p /srv/theirs11; mount -t tmpfs tmpfs /srv/theirs11",
		want:     []tasks.Task{tasks.Mount{Meta: meta(), What: "tmpfs", Where: "/srv/theirs11", Type: "tmpfs"}, tasks.File{Meta: meta(), Path: "/etc/ours11", Mode: 0o644}},
		is:       "findmnt /srv/theirs11",
		unpruned: []string{"mount:/srv/theirs11"},
	},
	{
		name: "network",
		want: []tasks.Task{
			tasks.Link{Meta: meta(), Name: "ours12", Kind: "bridge", MTU: 1400, Up: true},
			tasks.Address{Meta: meta(), Link: "ours12", Prefix: prefix("10.12.2.1/24")},
			tasks.Address{Meta: meta(), Link: "ours12", Prefix: prefix("2001:db8:12::1/64")},
			tasks.Route{Meta: tasks.Meta{From: "test", Requires: []graph.Key{tasks.AddressKey("ours12", prefix("10.12.2.1/24"))}},
				Route: rtnl.Route{Type: "unicast", Dst: prefix("10.12.100.0/24"), Gateway: netip.MustParseAddr("10.12.2.9"), Link: "ours12", Table: 1012}},
			tasks.Rule{Meta: meta(), Rule: rtnl.Rule{Priority: 712, Family: 4, Src: prefix("10.12.2.0/24"), Table: 1012}},
			table("ours12", "10.12.2.0/24"),
		},
		is: "ip link show ours12 | grep 'mtu 1400'; ip address show ours12 | grep 10.12.2.1/24; ip route show table 1012 | grep 10.12.100.0/24; ip rule | grep '712:'; nft list table inet ours12",
	},
	{
		name:   "link, changed",
		want:   []tasks.Task{tasks.Link{Meta: meta(), Name: "ours13", Kind: "bridge", MTU: 1400, Up: true}},
		is:     "ip link show ours13",
		person: "ip link set ours13 mtu 1300",
		stays:  "ip link show ours13 | grep 'mtu 1300'",
		forced: "! ip link show ours13",
		kept:   []string{"link:ours13"},
	},
	{
		name:   "link, with an address of theirs",
		want:   []tasks.Task{tasks.Link{Meta: meta(), Name: "ours14", Kind: "bridge", Up: true}, tasks.Address{Meta: meta(), Link: "ours14", Prefix: prefix("10.14.2.1/24")}},
		is:     "ip link show ours14",
		person: "ip address add 10.14.2.7/24 dev ours14",
		stays:  "ip address show ours14 | grep 10.14.2.7/24",
		forced: "ip address show ours14 | grep 10.14.2.7/24",
		kept:   []string{"link:ours14"},
	},
	{
		name: "address, with another length",
		want: []tasks.Task{tasks.Link{Meta: meta(), Name: "ours15", Kind: "bridge", Up: true}, tasks.Address{Meta: meta(), Link: "ours15", Prefix: prefix("10.15.2.1/24")}},
		is:   "ip address show ours15", person: "ip address del 10.15.2.1/24 dev ours15; ip address add 10.15.2.1/28 dev ours15",
		stays: "ip address show ours15 | grep 10.15.2.1/28",
		kept:  []string{"address:ours15/10.15.2.1/24"},
	},
	{
		name:   "route, led another way",
		before: "ip link add theirs16 type bridge; ip link set theirs16 up; ip address add 10.16.113.1/24 dev theirs16",
		want:   []tasks.Task{tasks.Route{Meta: meta(), Route: rtnl.Route{Type: "unicast", Dst: prefix("10.16.100.0/24"), Gateway: netip.MustParseAddr("10.16.113.9"), Link: "theirs16"}}},
		is:     "ip route show 10.16.100.0/24 | grep 10.16.113.9",
		person: "ip route replace 10.16.100.0/24 via 10.16.113.8 proto static",
		stays:  "ip route show 10.16.100.0/24 | grep 10.16.113.8",
		kept:   []string{"route:254/10.16.100.0/24"},
	},
	{
		name:   "rule, made anew",
		want:   []tasks.Task{tasks.Rule{Meta: meta(), Rule: rtnl.Rule{Priority: 717, Family: 4, Src: prefix("10.17.2.0/24"), Table: 1017}}},
		is:     "ip rule | grep '717:'",
		person: "ip rule del pref 717; ip rule add pref 717 from 10.17.2.0/24 table 1017 protocol static",
		stays:  "ip rule | grep '717:.*proto static'",
		kept:   []string{"rule:ipv4 717"},
	},
	{
		name:   "nft, with a rule of theirs",
		want:   []tasks.Task{table("ours18", "10.18.2.0/24")},
		is:     "nft list table inet ours18",
		person: "nft add rule inet ours18 post counter",
		stays:  "nft list table inet ours18 | grep counter",
		forced: "! nft list table inet ours18",
		kept:   []string{"nft:inet/ours18"},
	},
	{
		name:     "nft of ours, and nobody knows",
		before:   "env NETWRIGHT_RESET_IN_NODE='converge earlier' /reset.test; rm -rf /var/lib/netwright /run/netwright",
		want:     []tasks.Task{table("ours19", "10.19.2.0/24")},
		is:       "nft list table inet ours19 | grep 10.19.2.0/24",
		unpruned: []string{"nft:inet/ours19 is no longer wanted and stays: it was there before netwright"},
	},
	{
		name:     "nft of theirs",
		lost:     []string{"nft:inet/ours20 stays: its baseline has rules that netwright cannot write"},
		before:   "nft add table inet ours20; nft 'add chain inet ours20 post { type nat hook postrouting priority srcnat; }'; nft add rule inet ours20 post ip saddr 10.20.113.0/24 masquerade",
		want:     []tasks.Task{table("ours20", "10.20.2.0/24")},
		is:       "nft list table inet ours20 | grep 10.20.2.0/24",
		unpruned: []string{"nft:inet/ours20 is no longer wanted and stays: it was there before netwright"},
	},
	{
		name:     "link of theirs",
		before:   "ip link add theirs21 address 02:00:00:00:00:07 mtu 1450 type bridge; ip link set theirs21 up; ip link set theirs21 down",
		want:     []tasks.Task{tasks.Link{Meta: meta(), Name: "theirs21", Kind: "bridge", MTU: 1400, MAC: "02:00:00:00:00:09", Up: true}},
		is:       "ip link show theirs21 | grep 'UP.*mtu 1400'",
		unpruned: []string{"link:theirs21 is no longer wanted and stays: it was there before netwright"},
		person:   "ip link set theirs21 mtu 1300",
		stays:    "ip link show theirs21 | grep 'mtu 1300'",
		kept:     []string{"link:theirs21"},
	},
	{
		name:     "address of theirs, of another length",
		before:   "ip link add theirs22 type bridge; ip link set theirs22 up; ip address add 10.22.113.1/25 brd + dev theirs22",
		want:     []tasks.Task{tasks.Address{Meta: meta(), Link: "theirs22", Prefix: prefix("10.22.113.1/24")}},
		is:       "ip address show theirs22 | grep 10.22.113.1/24",
		unpruned: []string{"address:theirs22/10.22.113.1/24 is no longer wanted and stays: it was there before netwright"},
	},
	{ // the kernel removes other addresses of its network with it; "default" does not change a sysctl that somebody set
		name:   "address beside theirs",
		before: "ip link add theirs23 type bridge; ip link set theirs23 up; sysctl -qw net.ipv4.conf.theirs23.log_martians=0",
		want:   []tasks.Task{tasks.Address{Meta: meta(), Link: "theirs23", Prefix: prefix("10.23.113.1/24")}},
		is:     "ip address show theirs23 | grep 10.23.113.1/24",
		person: "ip address add 10.23.113.2/24 dev theirs23",
		stays:  "ip address show theirs23 | grep 10.23.113.2/24",
	},
	{ // ip_forward changes other keys, too
		name: "sysctl",
		before: "ip link add theirs24 type bridge; sysctl -qw net.ipv4.ip_forward=0; sysctl -qw net.ipv4.conf.all.accept_redirects=0; " +
			"sysctl -qw net.ipv4.conf.theirs24.forwarding=1; sysctl -qw net.ipv4.ip_local_reserved_ports=1-9; sysctl -qw net.ipv4.conf.lo.log_martians=0",
		want: []tasks.Task{tasks.Sysctl{Meta: meta(), Key: "net.ipv4.ip_forward", Value: "1"}, tasks.Sysctl{Meta: meta(), Key: "net.ipv4.ip_local_reserved_ports", Value: "30000-32767"},
			tasks.Sysctl{Meta: meta(), Key: "net.ipv4.conf.default.log_martians", Value: "1"}},
		is:       "test $(sysctl -n net.ipv4.ip_forward) = 1",
		unpruned: []string{"sysctl:net.ipv4.ip_forward is no longer wanted and stays as it is (=1): others may rely on it"},
		person:   "sysctl -qw net.ipv4.ip_local_reserved_ports=7",
		stays:    "test $(sysctl -n net.ipv4.ip_local_reserved_ports) = 7",
		kept:     []string{"sysctl:net.ipv4.ip_local_reserved_ports"},
	},
	{
		name: "toml keys",
		before: "printf '# mine\\r\\n[a]\\r\\nx = 1 # one\\r\\n\\r\\n[b]\\r\\nlist = [\"q\"]\\r\\n' >/etc/some.toml; chmod 640 /etc/some.toml; chown 12:34 /etc/some.toml; " +
			"touch -d 2020-02-02 /etc/some.toml",
		want: []tasks.Task{tasks.TOMLKey{Meta: meta(), Path: "/etc/some.toml", Table: []string{"a"}, Key: "y", Value: "2"},
			tasks.TOMLKey{Meta: meta(), Path: "/etc/some.toml", Table: []string{"b"}, Key: "list", Value: []string{"r", "s"}}},
		is:       "grep y /etc/some.toml",
		unpruned: []string{"toml:/etc/some.toml#b.list is no longer wanted and stays: it was there before netwright"},
		person:   "echo 'theirs25 = 1' >>/etc/some.toml; sed -i 's/y = .*/y = \"theirs25\"/' /etc/some.toml",
		stays:    "grep 'y = \"theirs25\"' /etc/some.toml; grep '^theirs25 = 1' /etc/some.toml; grep 'x = 1 # one' /etc/some.toml",
		kept:     []string{"toml:/etc/some.toml#a.y"},
	},
	{
		name:   "file of theirs",
		before: "echo theirs26 >/etc/theirs26; chown 12:34 /etc/theirs26; chmod 4750 /etc/theirs26; setcap cap_net_raw+ep /etc/theirs26; touch -d 2020-02-02 /etc/theirs26",
		want:   []tasks.Task{tasks.File{Meta: meta(), Path: "/etc/theirs26", Content: []byte("ours26\n"), Mode: 0o600}},
		is:     "grep ours26 /etc/theirs26",
		person: "echo changed >/etc/theirs26",
		stays:  "grep changed /etc/theirs26",
		forced: "grep theirs26 /etc/theirs26",
		kept:   []string{"file:/etc/theirs26"},
	},
	{
		name:   "paths",
		before: "mkdir -m 750 /opt/theirs27; chown 12:34 /opt/theirs27; touch -d 2020-02-02 /opt/theirs27; ln -s theirs27 /opt/link; touch -h -d 2020-02-02 /opt/link; touch -d 2020-02-02 /opt",
		want: []tasks.Task{tasks.Directory{Meta: meta(), Path: "/opt/theirs27", Mode: 0o755}, tasks.SymbolicLink{Meta: meta(), Path: "/opt/link", Target: "ours27"},
			tasks.Directory{Meta: meta(), Path: "/opt/ours27", Mode: 0o700}, tasks.File{Meta: meta(), Path: "/opt/ours27/deep/file", Mode: 0o644},
			tasks.SymbolicLink{Meta: meta(), Path: "/opt/ours27/link", Target: "/etc"}, tasks.File{Meta: meta(), Path: "/etc/modules-load.d/ours27.conf", Content: []byte("dummy\n"), Mode: 0o644}},
		is:     "test -d /opt/ours27/deep; test $(readlink /opt/link) = ours27",
		person: "touch /opt/ours27/theirs27; ln -sfn /tmp /opt/link; chmod 700 /opt/theirs27",
		stays:  "test -e /opt/ours27/theirs27; test $(readlink /opt/link) = /tmp; test $(stat -c %a /opt/theirs27) = 700",
		kept:   []string{"file:/opt/link", "file:/opt/theirs27", "file:/opt/ours27"},
	},
	{
		name:     "archive",
		before:   "mkdir -p /opt/bin; echo theirs28 >/opt/bin/two; chmod 700 /opt/bin/two; setcap cap_net_raw+ep /opt/bin/two; touch -d 2020-02-02 /opt/bin/two /opt/bin",
		want:     []tasks.Task{tasks.Archive{Meta: meta(), Name: "tools", URLs: []string{"tools.tar"}, Sum: archive.ChecksumOf(tools()), Dir: "/opt/bin", Members: []string{"one", "two"}, Mode: 0o755, Fetch: fetcher{}}},
		is:       "grep one /opt/bin/one; grep two /opt/bin/two",
		unpruned: []string{"file:/opt/bin/two is no longer wanted and stays: it was there before netwright"},
		person:   "echo changed >/opt/bin/one",
		stays:    "grep changed /opt/bin/one",
		forced:   "! test -e /opt/bin/one",
		kept:     []string{"file:/opt/bin/one"},
	},
	{
		name: "certificates", // see identity
		is:   "test $(stat -c %a /etc/ours29/pki/key.pem) = 600", person: "echo >>/etc/ours29/pki/key.pem",
		stays: "test -e /etc/ours29/pki/key.pem",
		kept:  []string{"file:/etc/ours29/pki/key.pem"},
	},
	{ // in a node the machine's: never loaded nor unloaded
		name:     "module",
		want:     []tasks.Task{tasks.Module{Meta: meta(), Name: "bridge"}},
		is:       "test -e /sys/module/bridge || grep -q bridge /lib/modules/*/modules.builtin",
		unpruned: []string{"module:bridge"},
	},
	{
		name: "forwarding in a chain of theirs that drops",
		before: "nft delete table ip theirs31 2>/dev/null || true; nft add table ip theirs31; nft 'add chain ip theirs31 chain31 { type filter hook forward priority 0; policy drop; }'; " +
			"nft add rule ip theirs31 chain31 ip daddr 10.31.113.1 accept",
		want:   []tasks.Task{tasks.ForwardAccept{Meta: meta(), Link: "ours31", Families: []int{4}}},
		is:     "nft list chain ip theirs31 chain31 | grep 'iifname \"ours31\".*accept'; nft list chain ip theirs31 chain31 | grep 10.31.113.1",
		person: "nft add rule ip theirs31 chain31 ip daddr 10.31.113.2 accept",
		stays:  "nft list chain ip theirs31 chain31 | grep 10.31.113.2; nft list chain ip theirs31 chain31 | grep 10.31.113.1",
		forced: "! nft list chain ip theirs31 chain31 | grep ours31",
	},
}

// earlier has the tasks of an agent whose ledger is gone.
var earlier = []tasks.Task{table("ours19", "10.19.113.0/24")}

func table(name, from string) tasks.Table {
	return tasks.Table{Meta: meta(), Table: firewall.Table{Family: "inet", Name: name, Chains: []firewall.Chain{{
		Name: "post", Type: "nat", Hook: "postrouting", Priority: 100, Rules: []firewall.NFRule{{SrcIn: []netip.Prefix{prefix(from)}, Verdict: "masquerade"}},
	}}}}
}

// identity returns a certificate set from files that the test put into the node.
func identity() tasks.Task {
	read := func(name string) []byte {
		text, err := os.ReadFile("/pki/" + name)
		if err != nil {
			fail("%v", err)
		}
		return text
	}
	return tasks.CertificateSet{Meta: meta(), Dir: "/etc/ours29/pki", CA: tasks.CertFile{Name: "ca.pem", PEM: read("ca"), Mode: 0o644},
		Cert: tasks.CertFile{Name: "cert.pem", PEM: read("cert"), Mode: 0o644}, Key: tasks.CertFile{Name: "key.pem", PEM: read("key"), Mode: 0o600}}
}

// fetcher has the archive in this process.
type fetcher struct{}

func (fetcher) Open(context.Context, string) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(tools())), int64(len(tools())), nil
}

func fail(format string, args ...any) {
	fmt.Printf("FAILED: "+format+"\n", args...)
	os.Exit(1)
}
