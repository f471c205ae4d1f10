only dummy link:kube-dummy-if link kube-dummy-if type dummy
only ipip link:tun-0123456789a link tun-0123456789a type ipip remote 10.77.0.12 local 10.77.0.11
service() { # ADDRESS:PORT SERVER
	left "ipvs:TCP $1" ipvsadm -A -t "$1"; ipvsadm -a -t "$1" -r "$2" -m
}
if can dummy; then ip addr add 10.96.0.1/32 dev kube-dummy-if; fi
only ip_vs "ipvs:TCP 10.96.0.1:443" service 10.96.0.1:443 10.77.0.12
only ip_vs "ipvs:TCP 10.77.0.11:30080" service 10.77.0.11:30080 10.244.1.5
