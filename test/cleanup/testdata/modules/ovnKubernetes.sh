only vrf link:mp1-udn-vrf link mp1-udn-vrf type vrf table 1007
only openvswitch "ovs:datapath ovs-system" datapath br-int ovn-k8s-mp0
only openvswitch link:0123456789abcde vport 0123456789abcde
