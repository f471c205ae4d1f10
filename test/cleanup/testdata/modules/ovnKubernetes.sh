only vrf link:mp1-udn-vrf link mp1-udn-vrf type vrf table 1007
only openvswitch "ovs:datapath ovs-system" datapath br-int ovn-k8s-mp0
