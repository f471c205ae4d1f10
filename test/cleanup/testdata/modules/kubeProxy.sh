only dummy link:kube-ipvs0 link kube-ipvs0 type dummy
service() { # ADDRESS:PORT SERVER
	left "ipvs:TCP $1" ipvsadm -A -t "$1" -s rr; ipvsadm -a -t "$1" -r "$2" -m
}
if can dummy; then ip addr add 10.96.0.50/32 dev kube-ipvs0; ip addr add 10.96.0.1/32 dev kube-ipvs0; fi
only ip_vs "ipvs:TCP 10.96.0.50:80" service 10.96.0.50:80 10.244.1.5:8080
only ip_vs "ipvs:TCP 10.96.0.1:443" service 10.96.0.1:443 10.77.0.12:6443
only ip_vs "ipvs:TCP 10.77.0.11:30080" service 10.77.0.11:30080 10.244.1.5:8080
