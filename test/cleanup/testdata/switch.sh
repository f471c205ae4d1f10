# What a switch of networks is looked at with.
begin() {
	for s in host decoys modules/decoys; do sh -eu ./$s.sh; done
	while ip -6 addr show | grep -q tentative; do sleep 0.1; done
}
# How the node is, without what is the agent's own or the test's, what is only in systemd's memory, and how kubenet made a cbr0 that bridge took over.
looks() { # FILE
	sh ./state.sh | grep -v '/var/lib/netwright\|/opt/lab\|/run/netwright\|/run/cilium/cgroupv2/\|^unit.*: run-\|loaded inactive dead\|route6: multicast ff00::/8 dev cbr0' | sed 's/ brd 10.244.1.255//' | LC_ALL=C sort >"/run/proof/$1"
}
leave() { # NETWORK
	{ cat ./prelude.sh "networks/$1.sh"; cat "modules/$1.sh" 2>/dev/null || true; } >/run/proof/script
	sh -eu /run/proof/script 2>/run/proof/errors >/run/proof/made || { cat /run/proof/errors >&2; return 1; }
	grep -v '^!' /run/proof/made
}
# A pod was here, and another node.
bridge_is_used() {
	ip link add veth01234567 type veth peer name eth0 netns pods; ip link set veth01234567 master cbr0 up; ip -n pods link set eth0 name p1
	ip route add 10.244.2.0/24 via 10.77.0.1 proto 149
	mkdir -p /var/lib/cni/networks/netwright-bridge; echo 1 >/var/lib/cni/networks/netwright-bridge/10.244.1.5; echo 1 >/var/lib/cni/results/netwright-bridge-0123-eth0
}
bridge_traces() {
	ip -o link show type veth | grep veth01234567 || true
	ip -o route show table all proto 149
	ls -d /etc/cni/net.d/05-netwright-bridge.conflist /var/lib/cni/networks/netwright-bridge /var/lib/cni/results/netwright-bridge-* 2>/dev/null || true
	[ -e /etc/containerd/config-cni.template ] || { ip -o link show cbr0; nft list table ip netwright; } 2>/dev/null || true # kubenet has both as well
}
# Runs lines in the words of prelude.sh.
make_() { { cat ./prelude.sh; printf '%s\n' "$1"; } >/run/proof/script; sh -eu /run/proof/script >/run/proof/made 2>/run/proof/errors || { cat /run/proof/errors >&2; return 1; }; }
# The same of what a mode leaves: each line that it adds to how the node is.
makes_left() { looks a; make_ "$1"; looks b; LC_ALL=C comm -13 /run/proof/a /run/proof/b >/run/proof/left; LC_ALL=C comm -23 /run/proof/a /run/proof/b; [ -s /run/proof/left ]; }
stands() { looks c; LC_ALL=C comm -23 /run/proof/left /run/proof/c; }                                       # of what was left there is no more
went() { looks d; LC_ALL=C comm -23 /run/proof/c /run/proof/left | LC_ALL=C diff - /run/proof/d || true; } # since stands, that and nothing else
