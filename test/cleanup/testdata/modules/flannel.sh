only tun link:flannel0 left link:flannel0 ip tuntap add flannel0 mode tun
only wireguard link:flannel-wg link flannel-wg type wireguard
only wireguard link:flannel-wg-v6 link flannel-wg-v6 type wireguard
only ipip link:flannel.ipip link flannel.ipip type ipip remote 10.77.0.12 local 10.77.0.11
