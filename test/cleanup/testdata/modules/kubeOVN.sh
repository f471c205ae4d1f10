only openvswitch "ovs:datapath ovs-system" datapath br-int ovn0 mirror0
only openvswitch link:0123456789ab_h vport 0123456789ab_h
