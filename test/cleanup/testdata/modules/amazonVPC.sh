only vlan link:vlan.eth.1 link vlan.eth.1 link host0 type vlan id 1
