pod azv0123456789a; left route:254/10.244.1.5/32 ip route add 10.244.1.5/32 dev azv0123456789a
link azSnatbr type bridge; pair azvint0123456 azvifv0123456; link azure0 type bridge
chain nat SWIFT; chain nat SWIFT-POSTROUTING; rule nat POSTROUTING -j SWIFT-POSTROUTING; rule nat POSTROUTING -j SWIFT
chain filter AZURECNIINPUT; chain filter AZURECNIOUTPUT; rule filter INPUT -j AZURECNIINPUT; rule filter OUTPUT -j AZURECNIOUTPUT
for c in AZURE-NPM AZURE-NPM-INGRESS AZURE-NPM-EGRESS; do chain filter $c; done; rule filter FORWARD -j AZURE-NPM
set_ azure-npm-123456 hash:net; within filter AZURE-NPM -m set --match-set azure-npm-123456 src -j RETURN
file /etc/cni/net.d/10-azure.conflist; file /etc/cni/net.d/15-azure-swift-overlay.conflist; for f in azure-vnet azure-vnet-ipam azure-vnet-telemetry azure-vnet-telemetry.config azure-ipam 10-azure.conflist; do file /opt/cni/bin/$f; done
dir /run/azure-vnet; file /run/azure-vnet.json; file /run/azure-vnet.json1234567890; file /run/azure-vnet.json.lock; file /run/azure-vnet-ipam.json; dir /run/azure-cns; dir /var/lib/azure-network; file /var/log/azure-vnet.log; file /var/log/azure-cns.log
portmap azure
