#!/bin/sh
# The machine's address, taken to a bridge as networks do, goes back with its routes, and the bridge goes.
set -eu
mkdir -p /run/proof
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
addr=$(ip -o -4 addr show eth0 | awk '{ print $4; exit }')
gateway=$(ip -4 route show default dev eth0 | awk '{ print $3; exit }')
ip route add 203.0.113.0/24 via "$gateway" table 4711
take() { # BRIDGE: what holds eth0 gets its address and routes
	ip addr del "$addr" dev eth0
	ip addr add "$addr" dev "$1"
	ip link set "$1" up
	ip route replace default via "$gateway" dev "$1"
	ip route replace 203.0.113.0/24 via "$gateway" dev "$1" table 4711
	ping -q -c 1 -W 30 "$gateway" >/dev/null
}
back() { # NETWORK BRIDGE KEY…
	n=$1 b=$2; shift 2
	./clean "$n" >/run/proof/planned
	for key in "$@"; do grep -qxF "$key" /run/proof/planned || { echo "FAIL $n: no $key in:"; cat /run/proof/planned; }; done
	./clean -apply "$n" >/run/proof/log 2>&1 || { echo "FAIL $n:"; tail -n 5 /run/proof/log; }
	ip -o -4 addr show eth0 | grep -qF "$addr" || { echo "FAIL $n: $addr is not on eth0"; ip addr; }
	ip -4 route show default | grep -q "via $gateway dev eth0" || { echo "FAIL $n: the default route"; ip route; }
	ip -4 route show table 4711 | grep -q "203.0.113.0/24 via $gateway dev eth0" || { echo "FAIL $n: the route of table 4711"; ip route show table 4711; }
	! ip link show "$b" >/dev/null 2>&1 || { echo "FAIL $n: $b is there"; ip -d link show "$b"; }
	ping -q -c 1 -W 30 "$gateway" >/dev/null || echo "FAIL $n: $gateway is not reached"
	echo "MOVED $n"
}
ip link add azure0 type bridge
ip link set eth0 master azure0
take azure0
back azure azure0 moved:azure0 link:azure0

systemctl -q unmask openvswitch-switch.service ovs-vswitchd.service ovsdb-server.service
systemctl start openvswitch-switch.service
gateway_bridge() { # as ovnkube makes it
	for b in br-ex br-int; do ovs-vsctl --timeout=60 add-br $b; done
	ovs-vsctl --timeout=60 add-port br-ex eth0 -- add-port br-ex patch-br-ex_n1-to-br-int -- set interface patch-br-ex_n1-to-br-int type=patch options:peer=patch-br-int-to-br-ex_n1 \
		-- add-port br-int patch-br-int-to-br-ex_n1 -- set interface patch-br-int-to-br-ex_n1 type=patch options:peer=patch-br-ex_n1-to-br-int
	take br-ex
}
gateway_bridge
back ovnKubernetes br-ex moved:br-ex "ovs:bridge br-ex" "ovs:datapath ovs-system"
[ -z "$(ovs-vsctl list-br)" ] || echo "FAIL ovnKubernetes: bridges: $(ovs-vsctl list-br)"
! ip link show ovs-system >/dev/null 2>&1 || echo "FAIL ovnKubernetes: ovs-system is there"

# Nobody runs it any more: what is left is the kernel's.
gateway_bridge
systemctl -q stop openvswitch-switch.service ovs-vswitchd.service ovsdb-server.service
ip link show br-ex >/dev/null
back ovnKubernetes br-ex moved:br-ex "ovs:datapath ovs-system"
