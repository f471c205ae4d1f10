only openvswitch "ovs:datapath ovs-system" datapath br-int ovn0 mirror0
