# Things of other owners of kinds that a kernel has as modules.
if [ -e /run/proof/can-ip_vs ]; then ipvsadm -A -t 192.0.2.50:80; ipvsadm -a -t 192.0.2.50:80 -r 192.0.2.60 -m; ipvsadm -A -t 192.0.2.51:80; fi
if [ -e /run/proof/can-openvswitch ]; then ip link add otherport type veth peer name eth0 netns pods; ip -n pods link set eth0 name op1; ovs-dpctl add-dp other; ovs-dpctl add-if other otherport; fi
for kind in wireguard:wireguard.calj wireguard:ciliumwg0 geneve:cilium-geneve ipip:flannel.ipiq ipip:tun-0123456789g dummy:kube-dummy-ig; do
	if [ -e "/run/proof/can-${kind%%:*}" ]; then ip link add "${kind#*:}" type "${kind%%:*}" $([ "${kind%%:*}" != ipip ] || echo remote "10.77.0.$((20 + ${#kind}))" local 10.77.0.11) \
		$([ "${kind%%:*}" != geneve ] || echo id 7 remote 10.77.0.20 dstport 6082); fi
done
