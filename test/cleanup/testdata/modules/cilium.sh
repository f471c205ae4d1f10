only geneve link:cilium_geneve link cilium_geneve type geneve external
only wireguard link:cilium_wg0 link cilium_wg0 type wireguard
only ipip link:cilium_ipip4 link cilium_ipip4 type ipip external
only ip6tnl link:cilium_ipip6 link cilium_ipip6 type ip6tnl external
only netkit link:lxcffffffffffff link lxcffffffffffff type netkit
