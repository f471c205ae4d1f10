left link:vethwe-bridge ip link add vethwe-bridge type veth peer name vethwe-datapath; echo link:vethwe-datapath
only dummy link:vethwedu link vethwedu type dummy
only openvswitch "ovs:datapath datapath" left "ovs:datapath datapath" ovs-dpctl add-dp datapath
if can openvswitch; then ovs-dpctl add-if datapath vethwe-datapath; fi
