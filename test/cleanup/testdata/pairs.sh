# Beside each other nearly all would publish by portmap's chains, some by the same name of a network.
portmap() { :; }
