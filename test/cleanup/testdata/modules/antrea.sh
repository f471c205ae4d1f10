for l in antrea-egress0 antrea-ingress0; do only dummy link:$l link $l type dummy; done
only wireguard link:antrea-wg0 link antrea-wg0 type wireguard
only wireguard link:antrea-mc-wg0 link antrea-mc-wg0 type wireguard
only vlan link:antrea-ext.10 link antrea-ext.10 link host0 type vlan id 10
only openvswitch "ovs:datapath ovs-system" datapath br-int antrea-gw0 antrea-l7-tap0 antrea-l7-tap1
only openvswitch link:coredns-0a1b2c vport coredns-0a1b2c
