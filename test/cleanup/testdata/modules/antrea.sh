for l in antrea-egress0 antrea-ingress0; do only dummy link:$l link $l type dummy; done
only wireguard link:antrea-wg0 link antrea-wg0 type wireguard
only vlan link:antrea-ext.10 link antrea-ext.10 link host0 type vlan id 10
datapath() { ovs-dpctl add-dp ovs-system && ovs-dpctl add-if ovs-system br-int,type=internal antrea-gw0,type=internal genev_sys_6081,type=geneve,remote_ip=flow,key=flow; }
only openvswitch "ovs:datapath ovs-system" left "ovs:datapath ovs-system" datapath
