# What the scripts of networks say. Each thing is printed as the key under which the agent finds it.
left() { # KEY COMMAND…
	key=$1; shift
	"$@" >&2 || { echo "cannot make $key: $*" >&2; exit 1; }
	echo "$key"
}
link() { name=$1; shift; left "link:$name" ip link add "$name" "$@"; } # NAME type KIND…
pair() { left "link:$1" ip link add "$1" type veth peer name "$2"; echo "link:$2"; ip link set "$1" up; ip link set "$2" up; }
# A pod's link: its other end is in the pod's namespace.
pod() { left "link:$1" ip link add "$1" type veth peer name eth0 netns pods; ip link set "$1" up; ip -n pods link set eth0 name "p${1#?}" up; }
port() { pod "$1"; ip link set "$1" master "$2"; }
file() { mkdir -p "$(dirname "$1")"; left "file:$1" sh -c 'echo left >"$0"' "$1"; }
dir() { mkdir -p "$1/below"; left "file:$1" sh -c 'echo left >"$0/below/file"' "$1"; }
chain() { for f in nft legacy; do left "iptables:ip/$f/$1/$2" iptables-$f -t "$1" -N "$2"; done; }
chain6() { for f in nft legacy; do left "iptables:ip6/$f/$1/$2" ip6tables-$f -t "$1" -N "$2"; done; }
# A rule in a chain that stays, or in one that goes.
rule() { t=$1 c=$2; shift 2; for f in nft legacy; do left "iptables:ip/$f/$t/$c" iptables-$f -t "$t" -A "$c" "$@"; done; }
rule6() { t=$1 c=$2; shift 2; for f in nft legacy; do left "iptables:ip6/$f/$t/$c" ip6tables-$f -t "$t" -A "$c" "$@"; done; }
within() { t=$1 c=$2; shift 2; for f in nft legacy; do iptables-$f -t "$t" -A "$c" "$@" || exit 1; done; }
table() { left "nft:$1/$2" nft add table "$1" "$2"; nft add chain "$1" "$2" c '{ type filter hook input priority 0; }'; nft add rule "$1" "$2" c counter; }
set_() { left "ipset:$1" ipset create "$1" "$2" ${3:-}; }
unit() { # NAME: a unit of its own, enabled and running
	printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n' >"/etc/systemd/system/$1"
	systemctl daemon-reload
	left "unit:$1" systemctl -q enable --now "$1"
}
state() { # SRC DST SPI KEY ARGUMENTS…: without ESP in the kernel a state lives that has no cipher yet
	src=$1 dst=$2 spi=$3 key=$4; shift 4
	left "xfrm:$key" ip xfrm state allocspi src "$src" dst "$dst" proto esp "$@" min "$spi" max "$spi"
}
program() { # NAME DEVICE WAY
	pinned=/sys/fs/bpf/proof/$1
	[ -e "$pinned" ] || ./pin tc "$1" "$pinned"
	tc qdisc add dev "$2" clsact 2>/dev/null || true
	left "ebpf:tc $2 $3 $1:[*fsobj]" tc filter add dev "$2" "$3" bpf direct-action object-pinned "$pinned"
	rm "$pinned" # it lives on where it is attached
}
datapath() { # PORT…: that of Open vSwitch, which its pods left in the kernel, with tunnels of the usual port and of another
	left "ovs:datapath ovs-system" ovs-dpctl add-dp ovs-system
	for p in "$@"; do left "link:$p" ovs-dpctl add-if ovs-system "$p,type=internal"; done
	for p in 6081 7081; do left link:genev_sys_$p ovs-dpctl add-if ovs-system genev_sys_$p,type=geneve,remote_ip=flow,key=flow,dst_port=$p; done
}
vport() { pod "$1"; ovs-dpctl add-if ovs-system "$1"; } # a pod's link, as a port of that datapath
# Only where the kernel has such links: else it is for the virtual machine.
can() { [ -e "/run/proof/can-$1" ]; }
only() { kind=$1 key=$2; shift 2; if can "$kind"; then "$@"; else echo "! $key: needs $kind"; fi; }
# What plugin portmap has of a container of network NAME, in the chains that it has for all: podman's container is there before. The nft table
# says the container alone, and libcni's file whose it is: only where the network's script made that.
portmap() { # NAME
	dn=CNI-DN-0123456789abcdef01234
	for p in ip/nft ip/legacy ip6/nft ip6/legacy; do
		case $p in ip/*) t="iptables-${p#*/} -t nat" to=10.244.1.5 any=0.0.0.0/0 ;; *) t="ip6tables-${p#*/} -t nat" to='[fd00::5]' any=::/0 ;; esac
		left "iptables:$p/nat/$dn" $t -N $dn
		$t -A $dn -s $any -p tcp --dport 8080 -j CNI-HOSTPORT-SETMARK; $t -A $dn -p tcp --dport 8080 -j DNAT --to-destination "$to:80"
		left "iptables:$p/nat/CNI-HOSTPORT-DNAT" $t -A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"$1\" id: \"0123\"" -m multiport --destination-ports 8080 -j $dn
	done
	[ -e "/var/lib/cni/results/$1-0123-eth0" ] || return 0
	left nft:ip/cni_hostport nft add rule ip cni_hostport hostports tcp dport 8080 dnat to 10.244.1.5:80 comment '"0123"'
	left nft:ip6/cni_hostport nft add rule ip6 cni_hostport hostports tcp dport 8080 dnat to '[fd00::5]:80' comment '"0123"'
	nft add rule ip cni_hostport masquerading ip saddr 10.244.1.5 ip daddr 10.244.1.5 masquerade comment '"0123"'
}
# The rule for local addresses, moved as Cilium and the VPC plugin do: the copy first.
move_local() { for f in 4 6; do left "rule:ipv$f $1 lookup local" ip -$f rule add pref "$1" lookup local; ip -$f rule del pref 0; done; }
