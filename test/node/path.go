package node

// Path is a file of the running node as its processes see it, by a path of this machine: for sockets below /run, which tests dial.
func (n *Node) Path(path string) string { return n.path(path) }
