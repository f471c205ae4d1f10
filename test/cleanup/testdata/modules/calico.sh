only wireguard link:wireguard.cali link wireguard.cali type wireguard
only wireguard link:wg-v6.cali link wg-v6.cali type wireguard
only ipip address:tunl0/10.244.1.128/32 left address:tunl0/10.244.1.128/32 ip addr add 10.244.1.128/32 dev tunl0
only ipip link:tunl0 left link:tunl0 ip link set tunl0 up
