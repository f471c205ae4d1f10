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
datapath() { # PORT…: that of Open vSwitch, which its pods left in the kernel, with a tunnel
	left "ovs:datapath ovs-system" ovs-dpctl add-dp ovs-system
	for p in "$@"; do ovs-dpctl add-if ovs-system "$p,type=internal"; done
	left link:genev_sys_6081 ovs-dpctl add-if ovs-system genev_sys_6081,type=geneve,remote_ip=flow,key=flow
}
# Only where the kernel has such links: else it is for the virtual machine.
can() { [ -e "/run/proof/can-$1" ]; }
only() { kind=$1 key=$2; shift 2; if can "$kind"; then "$@"; else echo "! $key: needs $kind"; fi; }
portmap() { # what plugin portmap leaves
	chain nat CNI-HOSTPORT-DNAT; chain nat CNI-HOSTPORT-MASQ; chain nat CNI-HOSTPORT-SETMARK; chain nat CNI-DN-0123456789abcdef01234
	for c in PREROUTING OUTPUT; do rule nat $c -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT; done
	rule nat POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
	within nat CNI-HOSTPORT-DNAT -p tcp --dport 80 -j CNI-DN-0123456789abcdef01234
	table ip cni_hostport; table ip6 cni_hostport
}
# The rule for local addresses, moved as Cilium and the VPC plugin do: the copy first.
move_local() { for f in 4 6; do left "rule:ipv$f $1 lookup local" ip -$f rule add pref "$1" lookup local; ip -$f rule del pref 0; done; }
