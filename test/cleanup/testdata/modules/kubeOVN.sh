datapath() { ovs-dpctl add-dp ovs-system && ovs-dpctl add-if ovs-system br-int,type=internal ovn0,type=internal mirror0,type=internal genev_sys_6081,type=geneve,remote_ip=flow,key=flow; }
only openvswitch "ovs:datapath ovs-system" left "ovs:datapath ovs-system" datapath
