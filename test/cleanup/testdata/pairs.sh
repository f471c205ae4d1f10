# Beside each other nearly all would share the chains of portmap, which are nobody's own.
portmap() { :; }
