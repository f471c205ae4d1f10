file /etc/cni/net.d/00-multus.conf; file /etc/cni/net.d/00-multus.conflist; file /etc/cni/net.d/00-multus.conf.new; dir /etc/cni/net.d/multus.d; for f in multus multus-shim passthru _multus123456 multus.temp123456 multus-shim.temp123456 passthru.temp123456; do file /opt/cni/bin/$f; done
dir /var/lib/cni/multus; dir /run/multus
# /etc/cni/multus/net.d and /run/k8s.cni.cncf.io are of others too: they are only said.
